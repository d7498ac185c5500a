package book

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed builtin.yaml
var builtIn []byte

// BuiltIn is the book that the portal brings along, for repositories without their own. It names no models: its driving
// model is the portal's default.
func BuiltIn() *Book {
	b, err := Load("builtin.yaml", builtIn)
	if err != nil {
		panic(err) // no user can cause it, and no test lets it pass
	}
	return b
}

// BuiltInText is the built-in book as it is written, to begin one's own with.
func BuiltInText() string { return string(builtIn) }

// Find looks for the book of the repository in root. One that is there but cannot be read is found, too, so that reading it
// says why.
func Find(root string) (path string, ok bool) {
	path = filepath.Join(root, ".portal", "jobs.yaml")
	_, err := os.Stat(path)
	return path, !errors.Is(err, fs.ErrNotExist)
}
