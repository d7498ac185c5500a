package permission

import (
	"path/filepath"
)

// canonical follows the links of a directory.
func Canonical(dir string) string {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		return target
	}
	return filepath.Clean(dir)
}
