package portaltest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Binary is bin/portal of the checkout that the test runs in. It ends a test whose
// binary is missing or older than what it is built from: such a test would tell
// something about another program.
func Binary(tb testing.TB) string {
	tb.Helper()
	root, err := checkout()
	if err != nil {
		tb.Fatal(err)
	}
	path, err := binaryIn(root)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// binaryIn is bin/portal of a checkout.
func binaryIn(root string) (path string, err error) {
	path = filepath.Join(root, "bin", "portal")
	built, err := os.Stat(path)
	if err != nil {
		return "", errors.New("bin/portal is missing: run make build (make test does it)")
	}
	source, changed, err := newestSource(root)
	switch {
	case err != nil:
		return "", err
	case changed.After(built.ModTime()):
		return "", fmt.Errorf("bin/portal is older than %s: run make build (make test does it)", source)
	}
	return path, nil
}

// newestSource is the file of the program that changed last, by its path in the checkout.
func newestSource(root string) (path string, changed time.Time, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && !hasSource(file):
			return fs.SkipDir
		case entry.IsDir() || !isSource(file):
			return nil
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().After(changed) {
			path, changed = file, info.ModTime()
		}
		return err
	})
	return path, changed, err
}

// hasSource tells whether a directory may have files of the program. Those of tests end with "test".
func hasSource(dir string) bool {
	name := filepath.Base(dir)
	return dir == "." || name[0] != '.' && !strings.HasSuffix(name, "test") && !slices.Contains([]string{"bin", "testdata", "node_modules"}, name)
}

// isSource tells whether a file is part of the program: it is Go, or of the page, which is embedded.
func isSource(file string) bool {
	return slices.Contains([]string{".go", ".js", ".css", ".html"}, filepath.Ext(file)) && !strings.HasSuffix(file, "_test.go")
}
