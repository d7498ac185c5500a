package permission

import (
	"os"
	"path/filepath"
)

// LongestPath is the maximum length of an existing path, in bytes.
const LongestPath = 4096

// mostLinks is the maximum number of dangling links that are followed, as in the system.
const mostLinks = 40

// FollowLinks follows the links of a path as far as it exists; a relative path is resolved in the directory.
// The CLI does not always do that, and a link in the working directory may lead out of it, even to a file
// that does not exist yet.
func FollowLinks(directory, path string) string { return followLinks(directory, path, mostLinks) }

func followLinks(directory, path string, most int) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(directory, path)
	}
	target, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return target
	case filepath.Dir(path) == path, len(path) > LongestPath:
		return path
	}
	parent := followLinks(directory, filepath.Dir(path), most)
	if link, err := os.Readlink(path); err == nil && most > 0 {
		return followLinks(parent, link, most-1)
	}
	return filepath.Join(parent, filepath.Base(path))
}

// Canonical follows the links of a directory.
func Canonical(dir string) string {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		return target
	}
	return filepath.Clean(dir)
}
