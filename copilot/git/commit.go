package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Commit commits one file as it is in the work tree, whatever else is staged. It returns the new commit, or the current
// one if the file has not changed. file is relative to the directory passed to [Open]. No hook runs and nothing is
// signed. Commit fails if the file is ignored, has a filter or belongs to another repository, if a merge is in
// progress, if no author is configured, or if another git process holds the lock. It then leaves the repository
// unchanged.
func (r *Repository) Commit(ctx context.Context, file, message string) (hash string, err error) {
	path, err := r.relative(file)
	if err != nil {
		return "", err
	}
	index, err := r.lockIndex()
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(index) }() // fails if it has become the index
	if err := r.copyHead(); err != nil {
		return "", err
	}
	if err := r.check(ctx, path, index); err != nil {
		return "", err
	}
	entry, err := r.stage(ctx, path, index)
	if err != nil {
		return "", err
	}
	parent, hash, err := r.commit(ctx, entry, message)
	if err != nil || hash == parent {
		return hash, err
	}
	if err := r.advance(ctx, parent, hash, message); err != nil {
		return "", err
	}
	return hash, os.Rename(index, filepath.Join(r.git, "index"))
}

// relative returns the path of a file relative to the top of the work tree.
func (r *Repository) relative(file string) (string, error) {
	directory, err := filepath.EvalSymlinks(r.directory)
	if err != nil {
		return "", err
	}
	path, err := filepath.Rel(r.Top, filepath.Join(directory, file))
	if err != nil || !filepath.IsLocal(path) {
		return "", errors.New("git: the file is outside of the work tree")
	}
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(r.Top, dir, ".git")); err == nil {
			return "", fmt.Errorf("git: the file lies in another repository: %s", filepath.ToSlash(dir))
		}
	}
	return filepath.ToSlash(path), nil
}

// lockIndex acquires git's lock of the index, which prevents other commits, and copies the index into it.
func (r *Repository) lockIndex() (lock string, err error) {
	index := filepath.Join(r.git, "index")
	lock = index + ".lock"
	text, err := os.ReadFile(index) //nolint:gosec // the user chooses the repository
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // as git does it
	if errors.Is(err, fs.ErrExist) {
		return "", errors.New("git: another git process is at work in the repository or left index.lock behind")
	}
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil && text == nil {
		err = os.Remove(lock) // an empty file is not an index; git creates one
	}
	if err != nil {
		_ = os.Remove(lock)
	}
	return lock, err
}

// check rejects files that plain git would reject or would commit with the help of programs.
func (r *Repository) check(ctx context.Context, path, index string) error {
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
		if _, err := os.Lstat(filepath.Join(r.git, name)); err == nil {
			return errors.New("git: a merge, cherry-pick or revert is in progress: finish it first")
		}
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	out, err := r.run(ctx, env, "check-attr", "-z", "filter", "--", path)
	if err != nil {
		return err
	}
	if fields := strings.Split(out, "\x00"); len(fields) > 2 && fields[2] != "unspecified" && fields[2] != "unset" {
		return fmt.Errorf("git: the file has the filter %q, which the portal does not run: commit it yourself", fields[2])
	}
	_, err = r.run(ctx, env, "check-ignore", "--quiet", "--", "./"+path)
	var failed *Error
	switch {
	case err == nil:
		return errors.New("git: the file is ignored by .gitignore: add it yourself first")
	case !errors.As(err, &failed) || failed.code != 1:
		return err
	}
	return nil
}

// stage adds the file to an index, writes its content to the repository and returns its entry: "mode object
// stage\tpath".
func (r *Repository) stage(ctx context.Context, path, index string) (entry string, err error) {
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := r.run(ctx, env, "update-index", "--add", "--replace", "--", path); err != nil {
		return "", err
	}
	entry, err = r.run(ctx, env, "ls-files", "-z", "--stage", "--", ":(top,literal)"+path)
	if err == nil && entry == "" {
		err = errors.New("git: the file was not added")
	}
	return entry, err
}

// commit creates a commit from HEAD and one index entry. It returns the parent as hash if that changes nothing.
func (r *Repository) commit(ctx context.Context, entry, message string) (parent, hash string, err error) {
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(r.ownDir, "index")}
	parent, err = r.run(ctx, nil, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	if err == nil {
		_, err = r.run(ctx, env, "read-tree", parent)
	} else if ctx.Err() == nil {
		parent, err = "", nil // the first commit
	}
	if err != nil {
		return "", "", err
	}
	mode, rest, _ := strings.Cut(entry, " ")
	object, _, _ := strings.Cut(rest, " ")
	_, path, _ := strings.Cut(strings.TrimSuffix(rest, "\x00"), "\t")
	if _, err := r.run(ctx, env, "update-index", "--add", "--replace", "--cacheinfo", mode+","+object+","+path); err != nil {
		return "", "", err
	}
	tree, err := r.run(ctx, env, "write-tree", "--missing-ok")
	if err != nil {
		return "", "", err
	}
	args := []string{"commit-tree", tree, "-m", strings.TrimSpace(message)}
	if parent != "" {
		if old, err := r.run(ctx, nil, "rev-parse", parent+"^{tree}"); err != nil || old == tree {
			return parent, parent, err
		}
		args = append(args, "-p", parent)
	}
	hash, err = r.run(ctx, nil, args...)
	return parent, hash, err
}

// advance moves HEAD to a commit, if HEAD is still parent.
func (r *Repository) advance(ctx context.Context, parent, hash, message string) error {
	head, err := r.head()
	if err != nil {
		return err
	}
	subject, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	old := parent
	if old == "" {
		old = strings.Repeat("0", len(hash)) // the reference must not exist
	}
	if _, err := r.run(ctx, nil, "update-ref", "-m", "commit: "+subject, "HEAD", hash, old); err != nil || strings.HasPrefix(head, "ref:") {
		return err
	}
	return r.detachAt(head, hash)
}

// detachAt replaces a detached HEAD under git's lock.
func (r *Repository) detachAt(head, hash string) error {
	path := filepath.Join(r.git, "HEAD")
	f, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // as git does it
	if err != nil {
		return err
	}
	_, err = f.WriteString(hash + "\n")
	err = errors.Join(err, f.Close())
	if now, failed := r.head(); err == nil && (failed != nil || now != head) {
		err = errors.New("git: HEAD changed meanwhile")
	}
	if err == nil {
		err = os.Rename(path+".lock", path)
	}
	if err != nil {
		_ = os.Remove(path + ".lock")
	}
	return err
}
