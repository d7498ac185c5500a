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

// BuiltIn returns the portal's own book, for repositories without one. It names no models: its driving model
// is the portal's default.
func BuiltIn() *Book {
	b, err := Load("builtin.yaml", builtIn)
	if err != nil {
		panic(err) // the book is part of the program, and tests check it
	}
	return b
}

// BuiltInText returns the source of the built-in book, as a start for other books.
func BuiltInText() string { return string(builtIn) }

// Find returns the path of the book of the repository with the given root. It also finds a book that cannot
// be read, so that reading it reports why.
func Find(root string) (path string, ok bool) {
	path = filepath.Join(root, ".portal", "jobs.yaml")
	_, err := os.Stat(path)
	return path, !errors.Is(err, fs.ErrNotExist)
}
