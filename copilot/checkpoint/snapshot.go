package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// Reason is why a file is not in checkpoints.
type Reason string

// The reasons.
const (
	Large      Reason = "large"      // above the limit of size
	Repository Reason = "repository" // a submodule or nested repository
	Unreadable Reason = "unreadable" // the portal may not read it, or its name is reserved by git
)

// Uncovered is a file or directory that is not in a checkpoint.
type Uncovered struct {
	Path string `json:"path"` // of a repository without a final slash
	Why  Reason `json:"why"`
}

// snapshot is a state of the directory.
type snapshot struct {
	Tree      string                 `json:"-"`
	Uncovered []Uncovered            `json:"uncovered,omitempty"`
	More      bool                   `json:"more,omitempty"`  // files are not covered that are not named
	Perms     map[string]fs.FileMode `json:"perms,omitempty"` // see [isUsual]
}

// maxUncovered is the maximum number of files that a snapshot names as not covered.
const maxUncovered = 1000

// retryAfter is how long a directory that is too large is not read again.
const retryAfter = 10 * time.Minute

// attempts is how often a snapshot is tried while files come and go.
const attempts = 3

// snapshot reads the changes since the last snapshot.
func (u *use) snapshot(ctx context.Context) (now snapshot, err error) {
	if err := u.refusal(); err != nil {
		return snapshot{}, err
	}
	limited, cancel := context.WithTimeout(ctx, u.stores.options.Time)
	defer cancel()
	for range attempts {
		err = u.withIndex(limited, func(index string) error {
			now, err = u.read(limited, index)
			return err
		})
		var failed *git.Error
		if !errors.As(err, &failed) { // git fails if a file disappears meanwhile
			break
		}
	}
	if limited.Err() != nil && ctx.Err() == nil {
		err = fault.Errorf(fault.Unavailable, "there are no checkpoints of %s because reading it takes longer than %v", u.directory, u.stores.options.Time)
	}
	if fault.KindOf(err) == fault.Unavailable {
		u.refuse(err)
	}
	return now, err
}

func (s *Store) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.retryAt) {
		return s.refused
	}
	return nil
}

func (s *Store) refuse(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused, s.retryAt = why, time.Now().Add(retryAfter)
}

// read updates an index and returns its tree.
func (u *use) read(ctx context.Context, index string) (snapshot, error) {
	found := &scan{use: u, limit: u.stores.options, links: map[string]bool{}, perms: u.readPerms()}
	out, err := u.call(ctx, git.Call{Index: index, Args: []string{"ls-files", "-z", "--modified", "--others", "--exclude-standard", "--", "."}})
	if err != nil {
		return snapshot{}, err
	}
	for p := range strings.SplitSeq(out, "\x00") {
		found.add(p)
	}
	for _, p := range u.place.Forced {
		found.add(p)
	}
	if err := found.check(); err != nil {
		return snapshot{}, err
	}
	if len(found.changed)+len(found.gone) > 0 {
		if hasMany(found.perms) {
			if found.perms, err = u.commonPerms(ctx, index, found.changed); err != nil {
				return snapshot{}, err
			}
		}
		if err := u.writePerms(found.perms); err != nil { // first: git lists files only until they are in the index
			return snapshot{}, err
		}
	}
	for _, list := range []struct {
		option string
		paths  []string
	}{{"--force-remove", found.gone}, {"--remove", found.changed}} {
		if len(list.paths) == 0 {
			continue
		}
		input := strings.NewReader(strings.Join(list.paths, "\x00") + "\x00")
		if _, err := u.call(ctx, git.Call{Index: index, Input: input, Args: []string{"update-index", "-z", "--add", "--replace", list.option, "--stdin"}}); err != nil {
			return snapshot{}, err
		}
	}
	tree, err := u.treeOf(ctx, index)
	return snapshot{Tree: tree, Uncovered: found.uncovered, More: found.more, Perms: found.perms}, err
}

// writtenTree is the tree of an index as it was after the tree was written.
type writtenTree struct {
	index os.FileInfo
	tree  string
}

// treeOf returns the tree of an index. It does not start git if the index has not changed since it wrote the tree.
func (u *use) treeOf(ctx context.Context, index string) (string, error) {
	last := u.written
	if now, err := os.Stat(index); err == nil && os.SameFile(now, last.index) &&
		now.ModTime().Equal(last.index.ModTime()) && now.Size() == last.index.Size() && u.hasTree(last.tree) {
		return last.tree, nil
	}
	u.written = writtenTree{}
	tree, err := u.writeTree(ctx, index)
	if now, failed := os.Stat(index); err == nil && failed == nil && os.SameFile(now, now) { // on Windows, this reads which file it is
		u.written = writtenTree{now, tree}
	}
	return tree, err
}

// hasTree reports whether a tree is in a file of its own. One that is packed, or that is lost, is written again.
func (u *use) hasTree(tree string) bool {
	if len(tree) < 2 {
		return false
	}
	_, err := os.Stat(u.path(filepath.Join("git", "objects", tree[:2], tree[2:])))
	return err == nil
}

// writeTree stores the tree of the directory, whatever the top of the work tree is.
func (u *use) writeTree(ctx context.Context, index string) (string, error) {
	args := append([]string{"write-tree"}, u.prefix()...)
	tree, err := u.call(ctx, git.Call{Index: index, Args: args})
	var failed *git.Error
	if len(args) > 1 && errors.As(err, &failed) && strings.Contains(failed.Output, "prefix") { // it has no files
		return u.run(ctx, "hash-object", "-t", "tree", "-w", os.DevNull)
	}
	return tree, err
}

// scan sorts the paths that git lists.
type scan struct {
	use       *use
	limit     Options
	changed   []string // to be stored, or deleted files
	gone      []string // to be removed although something is there
	uncovered []Uncovered
	more      bool            // uncovered has not all of them
	links     map[string]bool // directories that lie behind symbolic links, and those that do not
	perms     map[string]fs.FileMode
	bytes     int64
}

func (s *scan) add(p string) {
	switch {
	case p == "":
	case s.use.isPrivate(strings.TrimSuffix(p, "/")):
		s.gone = append(s.gone, strings.TrimSuffix(p, "/"))
	case strings.HasSuffix(p, "/"):
		s.leave(strings.TrimSuffix(p, "/"), Repository)
	case hasReserved(p):
		s.leave(p, Unreadable)
	case s.behindLink(path.Dir(p)):
		s.gone = append(s.gone, p)
	default:
		s.addFile(p)
	}
}

// addFile adds a file, or the deletion of one.
func (s *scan) addFile(p string) {
	name := filepath.Join(s.use.directory, filepath.FromSlash(p))
	info, err := os.Lstat(name)
	delete(s.perms, p)
	switch {
	case err != nil || info.Mode()&fs.ModeSymlink != 0:
	case !info.Mode().IsRegular():
		s.gone = append(s.gone, p)
		return
	case info.Size() > s.limit.File:
		s.gone = append(s.gone, p)
		s.leave(p, Large)
		return
	case !readable(name):
		s.gone = append(s.gone, p)
		s.leave(p, Unreadable)
		return
	default:
		s.bytes += info.Size()
		if perm := info.Mode().Perm(); !isUsual(s.perms, perm) && len(s.perms) < maxPerms {
			s.perms[p] = perm
		}
	}
	s.changed = append(s.changed, p)
}

func (s *scan) leave(p string, why Reason) {
	switch {
	case len(s.uncovered) >= maxUncovered:
		s.more = true
	case !slices.ContainsFunc(s.uncovered, func(u Uncovered) bool { return u.Path == p }):
		s.uncovered = append(s.uncovered, Uncovered{p, why})
	}
}

// check refuses directories that are too large.
func (s *scan) check() error {
	const advice = "start the session in a smaller directory, exclude files with .gitignore, or raise checkpoints."
	switch {
	case len(s.changed) > s.limit.Files:
		return fault.Errorf(fault.Unavailable, "there are no checkpoints of %s because it has more than %d files: %sfiles", s.use.directory, s.limit.Files, advice)
	case s.bytes > s.limit.Bytes:
		return fault.Errorf(fault.Unavailable, "there are no checkpoints of %s because its files have more than %d MiB: %ssize", s.use.directory, s.limit.Bytes>>20, advice)
	}
	return nil
}

// behindLink reports whether a directory is, or lies behind, a symbolic link or a file.
func (s *scan) behindLink(dir string) bool {
	if dir == "." {
		return false
	}
	is, known := s.links[dir]
	if !known {
		info, err := os.Lstat(filepath.Join(s.use.directory, filepath.FromSlash(dir)))
		is = err == nil && !info.IsDir() || s.behindLink(path.Dir(dir))
		s.links[dir] = is
	}
	return is
}

// hasReserved reports whether git refuses a path because it could be taken for a repository.
func hasReserved(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

func readable(name string) bool {
	f, err := os.Open(name) //nolint:gosec // it is only opened
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	_ = f.Close()
	return true
}
