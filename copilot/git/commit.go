package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Commit commits one file as it is in the work tree; see [Repository.CommitFiles]. It fails if the file is missing.
func (r *Repository) Commit(ctx context.Context, file, message string) (hash string, err error) {
	path, err := r.relative(file)
	if err != nil {
		return "", err
	}
	if r.isMissing(path) {
		return "", errors.New("git: the file is missing")
	}
	return r.CommitFiles(ctx, []string{file}, message)
}

// CommitFiles commits files as they are in the work tree, missing ones as deleted, whatever else is staged; that stays
// staged. It returns the new commit, or the current one if no file has changed. The files are relative to the directory
// passed to [Open]. No hook runs and nothing is signed. CommitFiles fails if a file is ignored, has a filter, has
// conflicts, is a directory or belongs to another repository, if a merge or rebase is in progress, if no author is
// configured, or if another git process holds the lock. It then leaves the repository unchanged.
func (r *Repository) CommitFiles(ctx context.Context, files []string, message string) (hash string, err error) {
	paths, err := r.paths(files)
	if err != nil {
		return "", err
	}
	lock, err := r.lockIndex()
	if err != nil {
		return "", err
	}
	defer func() { // unless it has become the index
		if lock != "" {
			_ = os.Remove(lock)
		}
	}()
	index := filepath.Join(r.ownDir, "staged")
	if err := errors.Join(r.copyIndex(index), r.copyHead()); err != nil {
		return "", err
	}
	if err := r.check(ctx, paths, index); err != nil {
		return "", err
	}
	entries, err := r.stage(ctx, paths, index)
	if err != nil {
		return "", err
	}
	parent, hash, err := r.commit(ctx, entries, message)
	if err != nil || hash == parent {
		return hash, err
	}
	if err := r.finish(ctx, index, lock, func(ctx context.Context) error { return r.advance(ctx, parent, hash, message) }); err != nil {
		return "", err
	}
	lock = ""
	return hash, nil
}

// finishTime limits the last part of a commit, which is not canceled.
const finishTime = 10 * time.Second

// finish moves HEAD, and puts the new index in the place of the old one. It is not canceled between the two: the index would
// then stage the inverse of the commit.
func (r *Repository) finish(ctx context.Context, index, lock string, advance func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := copyFile(lock, index); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	if err := advance(ctx); err != nil {
		return err
	}
	return os.Rename(lock, filepath.Join(r.git, "index"))
}

// paths returns the paths of files relative to the top of the work tree, each once.
func (r *Repository) paths(files []string) ([]string, error) {
	paths := make([]string, 0, len(files))
	for _, file := range files {
		path, err := r.relative(file)
		if err != nil {
			return nil, err
		}
		if r.isRepository(path) {
			return nil, fmt.Errorf("git: %q is another repository: commit it yourself", file)
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
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

// lockIndex acquires git's lock of the index, which prevents other commits.
func (r *Repository) lockIndex() (lock string, err error) {
	lock = filepath.Join(r.git, "index.lock")
	f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // as git does it
	if errors.Is(err, fs.ErrExist) {
		return "", errors.New("git: another git process is at work in the repository or left index.lock behind")
	}
	if err != nil {
		return "", err
	}
	return lock, f.Close()
}

// copyIndex copies the index, which the caller has locked. There is none in a new repository.
func (r *Repository) copyIndex(to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := copyFile(to, filepath.Join(r.git, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// maxIndex limits the size of an index, in bytes.
const maxIndex = 1 << 30

// copyFile copies an index with its time: git compares the contents of files that are as new as their index.
func copyFile(to, from string) error {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the user chooses the repository; a named pipe would block
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // opened for reading
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxIndex {
		return errors.New("git: the index of the repository is not valid")
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666) //nolint:gosec // as git does it
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxIndex))
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// check rejects files that plain git would reject or would commit with the help of programs.
func (r *Repository) check(ctx context.Context, paths []string, index string) error {
	if err := r.checkProgress(); err != nil {
		return err
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	there := slices.DeleteFunc(slices.Clone(paths), r.isMissing)
	if len(there) == 0 {
		return nil
	}
	filters, err := r.filters(ctx, env, there)
	if err != nil {
		return err
	}
	for path, filter := range filters {
		return fmt.Errorf("git: the file has the filter %q, which the portal does not run: commit it yourself%s", filter, among(paths, path))
	}
	ignored, err := r.ignored(ctx, env, there)
	if err != nil {
		return err
	}
	for _, path := range ignored {
		return fmt.Errorf("git: the file is ignored by .gitignore: add it yourself first%s", among(paths, path))
	}
	return nil
}

// among names a file of several for an error. The caller knows the only one, and may not want to show it.
func among(paths []string, path string) string {
	if len(paths) == 1 {
		return ""
	}
	return ": " + path
}

// ignored returns those of the paths that git ignores and does not track.
func (r *Repository) ignored(ctx context.Context, env, paths []string) (list []string, err error) {
	plain := make([]string, 0, len(paths))
	for _, path := range paths {
		plain = append(plain, "./"+path) // no magic
	}
	out, err := r.input(ctx, env, plain, "check-ignore", "-z", "--stdin")
	var failed *Error
	if errors.As(err, &failed) && failed.code == 1 {
		return nil, nil
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		list = append(list, strings.TrimPrefix(path, "./"))
	}
	return list, err
}

// isRepository reports whether a path is a submodule or a repository of its own.
func (r *Repository) isRepository(path string) bool { return !r.isMissing(path + "/.git") }

func (r *Repository) isMissing(path string) bool {
	_, err := os.Lstat(filepath.Join(r.Top, filepath.FromSlash(path)))
	return err != nil
}

// checkProgress fails while git is in the middle of something that a commit would end or disturb.
func (r *Repository) checkProgress() error {
	for name, what := range map[string]string{
		"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert", "rebase-merge": "rebase", "rebase-apply": "rebase",
	} {
		if _, err := os.Lstat(filepath.Join(r.git, name)); err == nil {
			return fmt.Errorf("git: a %s is in progress: finish it first", what)
		}
	}
	return nil
}

// filters returns the filters of those paths that have one.
func (r *Repository) filters(ctx context.Context, env, paths []string) (map[string]string, error) {
	out, err := r.input(ctx, env, paths, "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	filters := map[string]string{}
	for fields := strings.Split(out, "\x00"); len(fields) > 2; fields = fields[3:] { // path, "filter", value
		if value := fields[2]; value != "unspecified" && value != "unset" {
			filters[fields[0]] = value
		}
	}
	return filters, nil
}

// input runs git with paths as its standard input.
func (r *Repository) input(ctx context.Context, env, paths []string, args ...string) (string, error) {
	c := r.call(ctx, r.Top, env, args...)
	c.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	return output(ctx, c)
}

// stage adds files to an index, or removes missing ones, writes their content to the repository and returns their
// entries in the format of `git update-index --index-info`.
func (r *Repository) stage(ctx context.Context, paths []string, index string) (entries []string, err error) {
	env := []string{"GIT_INDEX_FILE=" + index}
	conflicts, err := r.entries(ctx, env, paths, "--unmerged")
	if err != nil {
		return nil, err
	}
	for path := range conflicts {
		return nil, fmt.Errorf("git: the file has conflicts: resolve them and add it yourself first%s", among(paths, path))
	}
	if _, err := r.input(ctx, env, paths, "update-index", "--add", "--remove", "--ignore-skip-worktree-entries", "--replace", "-z", "--stdin"); err != nil {
		return nil, err
	}
	staged, err := r.entries(ctx, env, paths, "--cached")
	if err != nil {
		return nil, err
	}
	for _, path := range paths { // deleted files first: others may take the place of their directories
		if staged[path] == "" {
			entries = append(entries, "0 "+r.zero+"\t"+path)
		}
	}
	for _, path := range paths {
		if entry := staged[path]; entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries, nil
}

// entries returns entries of an index, "mode object stage\tpath", by those of the paths that have one.
func (r *Repository) entries(ctx context.Context, env, paths []string, which string) (map[string]string, error) {
	wanted := make(map[string]bool, len(paths))
	for _, path := range paths {
		wanted[path] = true
	}
	found := map[string]string{}
	err := r.list(ctx, r.Top, env, func(entry string) bool {
		if _, path, ok := strings.Cut(entry, "\t"); ok && wanted[path] {
			found[path] = entry
		}
		return true
	}, "ls-files", "-z", "--stage", which)
	return found, err
}

// commit creates a commit from HEAD and index entries. It returns the parent as hash if that changes nothing.
func (r *Repository) commit(ctx context.Context, entries []string, message string) (parent, hash string, err error) {
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(r.ownDir, "index")}
	parent, err = r.run(ctx, nil, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	if err == nil {
		_, err = r.run(ctx, env, "read-tree", parent)
	} else if ctx.Err() == nil {
		parent, err = "", nil // the first commit
		if !slices.ContainsFunc(entries, func(entry string) bool { return !strings.HasPrefix(entry, "0 ") }) {
			err = errors.New("git: there is nothing to commit")
		}
	}
	if err != nil {
		return "", "", err
	}
	if _, err := r.input(ctx, env, entries, "update-index", "--add", "--replace", "-z", "--index-info"); err != nil {
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
		old = r.zero // the reference must not exist
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
