package copilot

import (
	"os"
	"path/filepath"
)

// ProjectOf returns the directory or the nearest one above it that contains .git; otherwise the directory. It runs nothing.
func ProjectOf(directory string) string {
	for at := directory; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return directory
		}
	}
}
