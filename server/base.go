package server

import (
	"fmt"
	"regexp"
	"strings"
)

// plainPath matches paths that need no encoding and that no client normalizes.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// cleanBase normalizes a base path: "" for none, otherwise with a leading slash and no trailing slash.
func cleanBase(path string) (string, error) {
	path = strings.TrimRight(path, "/")
	if path == "" {
		return "", nil
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if !plainPath.MatchString(path) {
		return "", fmt.Errorf("%q is not a plain path such as /portal", path)
	}
	return path, nil
}

// trimBase returns the part of a path below the base path, with its leading slash. It returns false for other
// paths.
func trimBase(base, path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, base)
	return rest, ok && strings.HasPrefix(rest, "/")
}
