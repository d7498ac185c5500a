package server

import (
	"fmt"
	"regexp"
	"strings"
)

// plainPath is one that needs no encoding anywhere and that no client changes.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// cleanBase gives a base path as it is kept: "" for none, else with a slash
// before it and none behind.
func cleanBase(path string) (string, error) {
	path = strings.TrimRight(path, "/")
	if path == "" {
		return "", nil
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if !plainPath.MatchString(path) {
		return "", fmt.Errorf("%q is no plain path, as in /portal", path)
	}
	return path, nil
}

// trimBase gives the part of a path below the base path, with its slash; ok is
// false for a path elsewhere.
func trimBase(base, path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, base)
	return rest, ok && strings.HasPrefix(rest, "/")
}
