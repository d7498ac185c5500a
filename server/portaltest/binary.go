package portaltest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Binary returns the path of bin/portal in the checkout of the test. It fails the test if the binary is
// missing or older than its sources, because the test would check another program.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := checkedBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// checkedBinary returns the path of bin/portal in this checkout. It compares the files once, because there are many.
var checkedBinary = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // a process tests one binary
	root, err := checkout()
	if err != nil {
		return "", err
	}
	return binaryIn(root)
})

// binaryIn returns the path of bin/portal in a checkout.
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

// newestSource returns the source file that changed last, relative to the checkout.
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

// hasSource reports whether a directory may contain sources of the program. Names of test directories end
// with "test".
func hasSource(dir string) bool {
	name := filepath.Base(dir)
	return dir == "." || name[0] != '.' && !strings.HasSuffix(name, "test") && !slices.Contains([]string{"bin", "testdata", "node_modules"}, name)
}

// isSource reports whether a file is part of the program: Go code, or a file of the embedded page.
func isSource(file string) bool {
	return slices.Contains([]string{".go", ".js", ".css", ".html"}, filepath.Ext(file)) && !strings.HasSuffix(file, "_test.go")
}
