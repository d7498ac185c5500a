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

// Error is a failure of the git program.
type Error struct {
	Output string // all that git said on standard error, or how it ended
	code   int    // its exit status
}

// Error returns what git said.
func (e *Error) Error() string { return "git: " + e.Output }

// waitDelay is how long a git that was killed may keep its output open.
const waitDelay = 100 * time.Millisecond

// call makes a call of git that asks nobody, fetches nothing and writes no lock
// unless it has to. The environment is env and nothing else.
func call(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	args = append([]string{"--no-optional-locks", "--no-pager"}, args...)
	c := exec.CommandContext(ctx, "git", args...) //nolint:gosec // which directory is up to the user
	c.Dir, c.Env, c.WaitDelay = dir, env, waitDelay
	return c
}

// output returns what a call prints, without the line break at its end.
func output(c *exec.Cmd) (string, error) {
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", failure(err, said.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func failure(err error, said string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err // there is no git, or it took too long
	}
	if said = strings.TrimSpace(said); said == "" {
		said = fmt.Sprint(err)
	}
	return &Error{said, exit.ExitCode()}
}

// environment is what every call gets of the portal's environment: where programs
// and the user's files are, and who the user is. Variables that name programs,
// repositories or traces are not among them.
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

// discoveryEnvironment is that of the calls that find a repository and read
// settings: they look at the configuration of the user and the system as well.
func discoveryEnvironment() []string {
	return environment("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "SUDO_UID")
}
