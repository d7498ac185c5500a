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

// keep is how long a list of files is of use to somebody who types.
const keep = 5 * time.Second

// walkTime is how long a directory is walked through that git does not know.
const walkTime = time.Second

// Files completes the names of files. It remembers for a few seconds what is in a
// directory. Its methods may be called concurrently. The zero value can be used.
type Files struct {
	mu    sync.Mutex
	lists map[string]func() []file // by directory
}

// Complete gives the files in a directory, and below it, whose path has these
// letters in this order, without regard to case: the best first, hidden ones last;
// more says that there are others. What git ignores is left out, and so are links
// that lead out of the directory. Of very many files not all are looked at. Errors:
// [fault.ErrDirectoryNotFound].
func (f *Files) Complete(dir, query string) (list []Entry, more bool, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, false, fault.Errorf(fault.Invalid, "%w: %s", fault.ErrDirectoryNotFound, dir)
	}
	defer root.Close() //nolint:errcheck // it was only read
	list = []Entry{}
	for _, found := range best(f.listed(dir)(), query) {
		if info, err := root.Stat(found); err != nil || !info.Mode().IsRegular() {
			continue // deleted, or a link that leads out
		}
		if len(list) == MaxEntries {
			return list, true, nil
		}
		list = append(list, Entry{found, path.Base(found)})
	}
	return list, false, nil
}

// listed gives the list of a directory; who needs it at the same time waits for it.
func (f *Files) listed(dir string) func() []file {
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

// list is made of what git knows, or of what is there: also where git ignores all.
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

// tracked are the files that git knows, and those that it does not ignore; none
// outside of a repository.
func tracked(dir string) (paths []string) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	r, err := git.Open(ctx, dir)
	if err != nil {
		return nil
	}
	defer r.Close()                           //nolint:errcheck // a temporary directory that stays harms nobody
	_ = r.Files(ctx, func(path string) bool { // what has come until then is of use
		paths = append(paths, path)
		return len(paths) < maxSeen
	})
	return paths
}

// walkFiles goes through directories level by level, hidden ones at last, so that what
// is near is found even if there is too much.
func walkFiles(dir string) (paths []string) {
	begin, seen := time.Now(), 0
	for open, hidden := []string{""}, []string(nil); len(open)+len(hidden) > 0; {
		if len(open) == 0 {
			open, hidden = hidden, nil
		}
		at := open[0]
		open = open[1:]
		entries, _ := os.ReadDir(filepath.Join(dir, at)) // what cannot be read is left out
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

// hides says whether a part of a path is hidden.
func hides(path string) bool { return isHidden(path) || strings.Contains(path, "/.") }
