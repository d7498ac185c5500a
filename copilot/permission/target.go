package permission

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Target returns the file that a path names, with links followed; "" if it is ambiguous, as ".." after a link
// is.
func Target(directory, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok { // from a shell; the CLI's tools never write it
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		path = filepath.Join(home, rest)
	}
	file := FollowLinks(directory, filepath.Clean(path))
	if slices.Contains(strings.Split(path, "/"), "..") && (len(path) > LongestPath || stepwise(directory, path) != file) {
		return ""
	}
	return file
}

// Resolve makes the paths of needs for files what [Target] returns, and returns the needs.
func Resolve(directory string, needs []Need) []Need {
	for i, n := range needs {
		if isFile(n.Name) && n.Target != "" {
			needs[i].Target = Target(directory, n.Target)
		}
	}
	return needs
}

// stepwise follows the links of a path like the system: ".." leaves the directory that a link leads to.
func stepwise(directory, path string) string {
	directory = FollowLinks(directory, "")
	if filepath.IsAbs(path) {
		directory = "/"
	}
	for element := range strings.SplitSeq(path, "/") {
		directory = FollowLinks(directory, element)
	}
	return directory
}
