package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git's
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// tree is the working directory. It never follows a symbolic link out of it.
type tree struct {
	*os.Root
}

// entry returns what a path is now. Anything that is neither a file, a link nor missing has the mode "other".
func (t tree) entry(p string) (Entry, error) {
	name := filepath.FromSlash(p)
	if t.obstacle(p) != "" {
		return Entry{}, nil
	}
	info, err := t.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Entry{}, nil
	case err != nil:
		return Entry{}, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := t.Readlink(name)
		return Entry{modeLink, blobID(int64(len(target)), strings.NewReader(target))}, err
	case !info.Mode().IsRegular():
		return Entry{Mode: "other"}, nil
	}
	f, err := t.Open(name)
	if err != nil {
		return Entry{}, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	mode := "100644"
	if info.Mode()&0o100 != 0 {
		mode = "100755"
	}
	return Entry{mode, blobID(info.Size(), f)}, nil
}

// blobID returns git's id of a content.
func blobID(size int64, content io.Reader) string {
	sum := sha1.New() //nolint:gosec // git's
	_, _ = fmt.Fprintf(sum, "blob %d\x00", size)
	_, _ = io.Copy(sum, content) // a wrong id never matches
	return hex.EncodeToString(sum.Sum(nil))
}

// obstacle returns the first directory above a path that is a file or a link, or "".
func (t tree) obstacle(p string) string {
	parts := strings.Split(p, "/")
	for i := 1; i < len(parts); i++ {
		dir := strings.Join(parts[:i], "/")
		info, err := t.Lstat(filepath.FromSlash(dir))
		if err != nil {
			return "" // missing
		}
		if !info.IsDir() {
			return dir
		}
	}
	return ""
}

// canApply checks that every file is as a step expects, and that nothing is in its way.
func (u *use) canApply(steps []step) error {
	root, err := os.OpenRoot(u.directory)
	if err != nil {
		return gone(u.directory)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	t := tree{root}
	goes := map[string]bool{}
	for _, s := range steps {
		if (s.To == Entry{}) {
			goes[s.Path] = true
		}
	}
	var blocked []string
	for _, s := range steps {
		if !filepath.IsLocal(filepath.FromSlash(s.Path)) || !t.isReady(s, goes) {
			blocked = append(blocked, s.Path)
		}
	}
	if len(blocked) > 0 {
		return conflict("these files changed meanwhile, or something that checkpoints do not contain is in their place", blocked)
	}
	return nil
}

// isReady reports whether a step can be taken when the files in goes are deleted.
func (t tree) isReady(s step, goes map[string]bool) bool {
	if dir := t.obstacle(s.Path); dir != "" {
		return goes[dir] && s.From == Entry{}
	}
	now, err := t.entry(s.Path)
	switch {
	case err != nil:
		return false
	case now.Mode == "other" && s.From == Entry{}:
		return t.becomesEmpty(s.Path, goes)
	}
	return now == s.From
}

// becomesEmpty reports whether a directory contains only files that are deleted.
func (t tree) becomesEmpty(dir string, goes map[string]bool) bool {
	err := fs.WalkDir(t.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !goes[p] {
			err = fs.ErrExist
		}
		return err
	})
	return err == nil
}

// apply takes the steps of a plan that are not taken yet: deletions first, so that directories can become files. A file
// that is not as expected stays as it is. An error leaves steps for later: that of ctx, or the disk is full.
func (u *use) apply(ctx context.Context, p *plan) error {
	root, err := os.OpenRoot(u.directory)
	if err != nil {
		return gone(u.directory)
	}
	defer root.Close() //nolint:errcheck // files are closed one by one
	objects, err := u.shadow.Objects(ctx)
	if err != nil {
		return err
	}
	defer func() { objects.Close() }()
	t := tree{root}
	for _, deletes := range []bool{true, false} {
		for i, s := range p.Steps {
			if (s.To == Entry{}) != deletes {
				continue
			}
			err := t.take(s, p.temp(i), objects)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case isFull(err):
				return fault.Errorf(fault.Unavailable, "there is no space for %q: %w; the rest of the files follows when there is space", s.Path, err)
			case err != nil:
				u.stores.options.Log.Warn("a file could not be restored", "directory", u.directory, "path", s.Path, "err", err)
				p.Restored.Left = append(p.Restored.Left, s.Path)
			}
			if errors.Is(err, git.ErrReader) {
				again, err := u.shadow.Objects(ctx)
				if err != nil {
					return err
				}
				objects.Close()
				objects = again
			}
		}
	}
	return nil
}

// isFull reports whether an error says that files cannot grow, which other files would hit, too.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

var errChanged = errors.New("it changed meanwhile")

// take takes one step.
func (t tree) take(s step, temp string, objects *git.Objects) error {
	name := filepath.FromSlash(s.Path)
	if !filepath.IsLocal(name) {
		return fs.ErrInvalid
	}
	if t.obstacle(s.Path) == "" {
		_ = t.Remove(temp) // of a killed process
	}
	now, err := t.entry(s.Path)
	switch {
	case err != nil:
		return err
	case now == s.To:
		return nil
	case now.Mode == "other" && s.From == Entry{}: // a directory whose files were deleted
		if err := t.removeEmpty(s.Path); err != nil {
			return err
		}
	case now != s.From:
		return errChanged
	}
	if (s.To == Entry{}) {
		return t.delete(name)
	}
	return t.write(s, name, temp, objects)
}

// delete deletes a file, and the directories above it that become empty.
func (t tree) delete(name string) error {
	if err := t.Remove(name); err != nil {
		return err
	}
	dir := filepath.Dir(name)
	for dir != "." && t.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
	return nil
}

// removeEmpty removes a directory that contains nothing but empty directories.
func (t tree) removeEmpty(dir string) error {
	var dirs []string
	err := fs.WalkDir(t.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = errChanged
		}
		dirs = append(dirs, p)
		return err
	})
	for _, d := range slices.Backward(dirs) {
		if err == nil {
			err = t.Remove(filepath.FromSlash(d))
		}
	}
	return err
}

// write replaces a file atomically.
func (t tree) write(s step, name, temp string, objects *git.Objects) error {
	if t.obstacle(s.Path) != "" {
		return errChanged
	}
	if dir := path.Dir(s.Path); dir != "." {
		if err := t.MkdirAll(filepath.FromSlash(dir), 0o777); err != nil { // umask applies
			return err
		}
	}
	err := t.writeTemp(s, name, temp, objects)
	if err == nil {
		err = t.Rename(temp, name)
	}
	if err != nil {
		_ = t.Remove(temp)
	}
	return err
}

func (t tree) writeTemp(s step, name, temp string, objects *git.Objects) error {
	if s.To.isLink() {
		var target bytes.Buffer
		if err := objects.Read(&target, s.To.Object); err != nil {
			return err
		}
		return t.Symlink(target.String(), temp)
	}
	create, exact := t.perm(s, name)
	f, err := t.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, create)
	if err != nil {
		return err
	}
	err = objects.Read(f, s.To.Object)
	if err == nil && exact != 0 {
		err = f.Chmod(exact)
	}
	return errors.Join(err, f.Close())
}

// perm returns the permissions to create a file with, to which umask applies, and the exact ones if they are known: those
// of the file that it replaces, or those that it had.
func (t tree) perm(s step, name string) (create, exact fs.FileMode) {
	exact = s.Perm
	if info, err := t.Lstat(name); err == nil && info.Mode().IsRegular() {
		exact = info.Mode().Perm()
	}
	executable := s.To.Mode == "100755"
	switch {
	case exact == 0 && executable:
		return 0o777, 0
	case exact == 0:
		return 0o666, 0
	case executable:
		return 0o600, exact | exact&0o444>>2
	}
	return 0o600, exact &^ 0o111
}
