package workspace

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// gitTime is how long git may take for an answer: somebody waits for it.
const gitTime = time.Second

// MaxChanged is how many changed files are counted.
const MaxChanged = 1000

// Unknown stands for a count that would have taken too long.
const Unknown = -1

// Description says what is at a path.
type Description struct {
	Path   string // absolute
	Exists bool   // it is a directory
	Git    *Git   // nil if git does not know it, or is not there
}

// Git is how a directory stands with git.
type Git struct {
	Branch  string // of a detached head: the commit
	Changed int    // files of the whole repository, new ones included; at most [MaxChanged], or [Unknown]
}

// Describe says what is at a path, which is as that of [Directories].
func Describe(ctx context.Context, path string) (Description, error) {
	path, err := expand(path)
	if err != nil {
		return Description{}, err
	}
	d := Description{Path: filepath.Clean(path)}
	if info, err := os.Stat(d.Path); err != nil || !info.IsDir() {
		return d, nil
	}
	d.Exists = true
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	if branch, ok := branchOf(ctx, d.Path); ok {
		d.Git = &Git{branch, changedIn(ctx, d.Path)}
	}
	return d, nil
}

// branchOf is what is checked out; not ok outside of a repository.
func branchOf(ctx context.Context, dir string) (branch string, ok bool) {
	branch, err := gitText(ctx, dir, "branch", "--show-current")
	if err == nil && branch == "" {
		branch, err = gitText(ctx, dir, "rev-parse", "--short", "HEAD")
	}
	return branch, err == nil
}

func changedIn(ctx context.Context, dir string) (n int) {
	err := gitList(ctx, dir, func(string) bool {
		n++
		return n < MaxChanged
	}, "status", "--porcelain", "--no-renames", "--ignore-submodules=dirty", "-z")
	if err != nil {
		return Unknown
	}
	return n
}

func gitText(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := git(ctx, dir, args...).Output()
	return strings.TrimSpace(string(out)), err
}

// gitList visits what git lists with zero bytes between, as long as visit wants more.
func gitList(ctx context.Context, dir string, visit func(string) bool, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	command := git(ctx, dir, args...)
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
	if err := command.Wait(); !enough {
		return err
	}
	return nil
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

// git is a call of git that changes nothing, asks nobody, fetches nothing and runs
// no hooks.
func git(ctx context.Context, dir string, args ...string) *exec.Cmd {
	args = append([]string{"-C", dir, "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)
	c := exec.CommandContext(ctx, "git", args...) //nolint:gosec // which directory is up to the user
	c.Env = append(GitEnvironment(), "GIT_NO_LAZY_FETCH=1")
	c.WaitDelay = gitTime / 10
	return c
}

// GitEnvironment is what git needs of the environment to work where it is told to,
// to ask nobody, and to speak English.
func GitEnvironment() []string {
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !isOfRepository(name) {
			env = append(env, v)
		}
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// isOfRepository says whether a variable names a repository: one that a hook has
// set, from which the portal was started.
func isOfRepository(variable string) bool {
	switch variable {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES":
		return true
	}
	return false
}
