package git

import (
	"bufio"
	"bytes"
	"context"
	"io"
)

// Branch returns the current branch, or the abbreviated commit if HEAD is detached.
func (r *Repository) Branch(ctx context.Context) (string, error) {
	if branch, err := r.CurrentBranch(); err == nil && branch != "" {
		return branch, nil
	}
	return r.run(ctx, nil, "rev-parse", "--short", "HEAD")
}

// Changed visits the changed files of the whole repository, new ones included, one line of `git status --porcelain`
// each, until visit returns false. It ignores changes inside submodules. A file with a filter counts as changed if its
// time or size differs from the index, because the filter does not run.
func (r *Repository) Changed(ctx context.Context, visit func(line string) bool) error {
	return r.list(ctx, r.Top, nil, visit, "status", "--porcelain", "--no-renames", "--ignore-submodules=dirty", "-z")
}

// Files visits the files in and below the directory passed to [Open] that git tracks or does not ignore, as paths
// relative to it, until visit returns false.
func (r *Repository) Files(ctx context.Context, visit func(path string) bool) error {
	return r.list(ctx, r.directory, nil, visit, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
}

// list visits NUL-separated output of git, with more variables in its environment, until visit returns false.
func (r *Repository) list(ctx context.Context, dir string, env []string, visit func(string) bool, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	command := r.call(ctx, dir, env, args...)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	enough := false
	for items := split(out); !enough && items.Scan(); {
		enough = !visit(items.Text())
	}
	if enough {
		cancel()
	}
	err = command.Wait()
	switch {
	case enough:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return failure(err, said.String())
}

func split(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Split(func(data []byte, _ bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, 0); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	return s
}
