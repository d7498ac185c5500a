// Package workspace completes the names of directories and files that users type, reads files, and reports the git state of a
// directory. It changes nothing.
package workspace

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/fault"
)

// MaxEntries is the maximum number of entries of a list.
const MaxEntries = 50

// maxSeen is the maximum number of names examined for a list.
const maxSeen = 20_000

// Entry is a directory or a file to choose.
type Entry struct {
	Path string // absolute for directories, relative to the listed directory for files
	Name string // last element of the path
}

// Directories completes the path of a directory. It returns those with the given prefix, ignoring case, hidden ones
// last; more reports that there are others. Paths begin with / or with ~, the home directory; "" stands for ~. The list
// is empty if the directory does not exist or cannot be read. An invalid path is an error of kind [fault.Invalid].
func Directories(path string) (list []Entry, more bool, err error) {
	if path, err = expand(path); err != nil {
		return nil, false, err
	}
	dir, begin := filepath.Split(path)
	names := subdirectories(dir, strings.ToLower(begin))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(
			later(isHidden(a), isHidden(b)),
			later(!strings.HasPrefix(a, begin), !strings.HasPrefix(b, begin)),
			strings.Compare(strings.ToLower(a), strings.ToLower(b)),
			strings.Compare(a, b),
		)
	})
	more = len(names) > MaxEntries
	list = []Entry{}
	for _, name := range names[:min(len(names), MaxEntries)] {
		list = append(list, Entry{filepath.Join(dir, name), name})
	}
	return list, more, nil
}

// expand replaces ~ by the home directory.
func expand(path string) (string, error) {
	rest, isHome := strings.CutPrefix(path, "~")
	switch {
	case strings.ContainsRune(path, 0):
		return "", fault.Errorf(fault.Invalid, "a path cannot contain a zero byte")
	case path == "", isHome && rest == "", strings.HasPrefix(rest, "/") && isHome:
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fault.Errorf(fault.Invalid, "the portal has no home directory: type the whole path")
		}
		return strings.TrimRight(home, "/") + "/" + strings.TrimLeft(rest, "/"), nil
	case isHome:
		return "", fault.Errorf(fault.Invalid, "%q: only ~ and ~/… are supported, not the homes of other users", path)
	case !filepath.IsAbs(path):
		return "", fault.Errorf(fault.Invalid, "%q must begin with / or ~", path)
	}
	return path, nil
}

// subdirectories returns the names with a prefix, given in lower case. The path ends with a slash, so that only a
// directory is opened.
func subdirectories(dir, begin string) (names []string) {
	f, err := os.Open(dir) //nolint:gosec // the user chooses the directory
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // opened for reading
	const batch = 1000
	for seen := 0; seen < maxSeen; seen += batch {
		entries, err := f.ReadDir(batch)
		for _, e := range entries {
			if strings.HasPrefix(strings.ToLower(e.Name()), begin) && utf8.ValidString(e.Name()) && isDirectory(dir, e) {
				names = append(names, e.Name())
			}
		}
		if err != nil { // usually the end of the directory
			break
		}
	}
	return names
}

// isDirectory follows symbolic links, because users may work in linked directories.
func isDirectory(dir string, e os.DirEntry) bool {
	if e.Type()&os.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.IsDir()
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// later orders values with the property after those without.
func later(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
