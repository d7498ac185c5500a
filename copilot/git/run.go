package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Error is a failed call of git.
type Error struct {
	Output string // standard error of git, or how the process ended
	code   int    // exit status
}

// Error returns the output of git.
func (e *Error) Error() string { return "git: " + e.Output }

// waitDelay is how long the output of a git that has ended may take to arrive: on a busy machine, longer than git itself.
const waitDelay = 5 * time.Second

// call returns a call of git that never prompts or fetches, and locks only when necessary. env is its whole
// environment.
func call(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	args = append([]string{"--no-optional-locks", "--no-pager"}, args...)
	c := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the user chooses the directory
	c.Dir, c.Env, c.WaitDelay = dir, env, waitDelay
	return c
}

// output returns the output of a call without the final line break. Errors: that of ctx, [Error], or git is missing.
func output(ctx context.Context, c *exec.Cmd) (string, error) {
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	switch {
	case err != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", failure(err, said.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func failure(err error, said string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err // git is missing, or took too long
	}
	if said = strings.TrimSpace(said); said == "" {
		said = fmt.Sprint(err)
	}
	return &Error{said, exit.ExitCode()}
}

// environment returns the variables that every call of git inherits: where programs and the user's files are, and who
// the user is. Variables that name programs, repositories or traces are excluded.
func environment(more ...string) []string {
	env := []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_ATTR_NOSYSTEM=1"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(inherited, name) || slices.Contains(more, name) {
			env = append(env, v)
		}
	}
	return env
}

var inherited = []string{ //nolint:gochecknoglobals // a table
	"PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL",
	"GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE", "SystemRoot",
}

// discoveryEnvironment returns the environment of calls that find a repository and read settings. They also read the
// configuration of the user and the system.
func discoveryEnvironment() []string {
	return environment("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "SUDO_UID")
}
