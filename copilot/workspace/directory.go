// Package workspace knows the directories that users work in: it completes what
// they type of directories and files, and says how a directory stands with git. It
// changes nothing there.
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

// MaxEntries is how many entries are given at most.
const MaxEntries = 50

// maxSeen is how many names are looked at for that.
const maxSeen = 20_000

// Entry is a directory or a file that can be chosen.
type Entry struct {
	Path string // of a directory absolute, of a file from the directory of the list
	Name string // the last part of it
}

// Directories completes the path of a directory: it gives those that begin so,
// without regard to case, hidden ones last; more says that there are others. Paths
// begin with / or with ~, the home directory, which "" stands for, too. Where there
// is nothing, or nothing can be read, there are no entries. Errors: kind [fault.Invalid] for
// what is no path.
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

// expand puts the home directory in the place of ~.
func expand(path string) (string, error) {
	rest, isHome := strings.CutPrefix(path, "~")
	switch {
	case strings.ContainsRune(path, 0):
		return "", fault.Errorf(fault.Invalid, "a path has no zero bytes")
	case path == "", isHome && rest == "", strings.HasPrefix(rest, "/") && isHome:
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fault.Errorf(fault.Invalid, "the portal has no home directory: type the whole path")
		}
		return strings.TrimRight(home, "/") + "/" + strings.TrimLeft(rest, "/"), nil
	case isHome:
		return "", fault.Errorf(fault.Invalid, "%q: only ~ and ~/… are known, no homes of others", path)
	case !filepath.IsAbs(path):
		return "", fault.Errorf(fault.Invalid, "%q begins neither with / nor with ~", path)
	}
	return path, nil
}

// subdirectories are those whose names begin so, in lower case. The directory has
// its slash behind it, so that nothing else is opened.
func subdirectories(dir, begin string) (names []string) {
	f, err := os.Open(dir) //nolint:gosec // which one is up to the user
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it was only read
	const batch = 1000
	for seen := 0; seen < maxSeen; seen += batch {
		entries, err := f.ReadDir(batch)
		for _, e := range entries {
			if strings.HasPrefix(strings.ToLower(e.Name()), begin) && utf8.ValidString(e.Name()) && isDirectory(dir, e) {
				names = append(names, e.Name())
			}
		}
		if err != nil { // mostly its end
			break
		}
	}
	return names
}

// isDirectory follows a link: one may work there.
func isDirectory(dir string, e os.DirEntry) bool {
	if e.Type()&os.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.IsDir()
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// later orders what is so behind what is not.
func later(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
