package workspace

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// keep is how long a list of files is cached for a typing user.
const keep = 5 * time.Second

// walkTime limits the walk through a directory that is not in a repository.
const walkTime = time.Second

// Files completes file names. It caches the files of a directory for a few seconds. Its methods may be called
// concurrently. The zero value is ready to use.
type Files struct {
	mu    sync.Mutex
	lists map[string]func() []file // by directory
}

// Complete returns the files in and below a directory whose paths contain the letters of the query in order, ignoring
// case: best matches first, hidden files last; more reports that there are others. It omits files that git ignores and
// links that lead out of the directory, and does not examine all of very many files. It fails with
// [fault.ErrDirectoryNotFound].
func (f *Files) Complete(dir, query string) (list []Entry, more bool, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, false, fault.Errorf(fault.Invalid, "%w: %s", fault.ErrDirectoryNotFound, dir)
	}
	defer root.Close() //nolint:errcheck // opened for reading
	list = []Entry{}
	for _, found := range best(f.cachedList(dir)(), query) {
		if info, err := root.Stat(found); err != nil || !info.Mode().IsRegular() {
			continue // deleted, or a link that leads out of the directory
		}
		if len(list) == MaxEntries {
			return list, true, nil
		}
		list = append(list, Entry{found, path.Base(found)})
	}
	return list, false, nil
}

// CompleteIn is [Files.Complete] for a directory as a user types it: a path that begins with / or ~. An invalid path is an error of kind
// [fault.Invalid].
func (f *Files) CompleteIn(typed, query string) (list []Entry, more bool, err error) {
	dir, err := expand(typed)
	if err != nil {
		return nil, false, err
	}
	return f.Complete(filepath.Clean(dir), query)
}

// cachedList returns a function that lists a directory. Concurrent callers share one listing.
func (f *Files) cachedList(dir string) func() []file {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.lists[dir]; known != nil {
		return known
	}
	if f.lists == nil {
		f.lists = map[string]func() []file{}
	}
	f.lists[dir] = sync.OnceValue(func() []file { return list(dir) })
	time.AfterFunc(keep, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.lists, dir)
	})
	return f.lists[dir]
}

// list returns the files known to git, or otherwise all files, which covers directories that git ignores.
func list(dir string) []file {
	paths := tracked(dir)
	if len(paths) == 0 {
		paths = walkFiles(dir)
	}
	files := make([]file, 0, len(paths))
	for _, p := range paths {
		if utf8.ValidString(p) {
			files = append(files, newFile(p))
		}
	}
	return files
}

// tracked returns the files that git tracks or does not ignore, and none outside of a repository.
func tracked(dir string) (paths []string) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	r, err := git.Open(ctx, dir)
	if err != nil {
		return nil
	}
	defer r.Close()                           //nolint:errcheck // a leftover temporary directory is harmless
	_ = r.Files(ctx, func(path string) bool { // a partial list is useful
		paths = append(paths, path)
		return len(paths) < maxSeen
	})
	return paths
}

// walkFiles walks directories level by level, hidden ones last, so that near files are found even if there are too
// many.
func walkFiles(dir string) (paths []string) {
	begin, seen := time.Now(), 0
	for open, hidden := []string{""}, []string(nil); len(open)+len(hidden) > 0; {
		if len(open) == 0 {
			open, hidden = hidden, nil
		}
		at := open[0]
		open = open[1:]
		entries, _ := os.ReadDir(filepath.Join(dir, at)) // unreadable directories are skipped
		for _, e := range entries {
			if seen++; seen > maxSeen || time.Since(begin) > walkTime {
				return paths
			}
			switch below := path.Join(at, e.Name()); {
			case e.IsDir() && e.Name() == ".git":
			case e.IsDir() && isHidden(e.Name()):
				hidden = append(hidden, below)
			case e.IsDir():
				open = append(open, below)
			case e.Type().IsRegular(), e.Type()&os.ModeSymlink != 0:
				paths = append(paths, below)
			}
		}
	}
	return paths
}

// isHiddenPath reports whether an element of a path is hidden.
func isHiddenPath(path string) bool { return isHidden(path) || strings.Contains(path, "/.") }
