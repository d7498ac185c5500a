package operation

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/workspace"
)

// commitTime is how long a commit may take, with the hooks of the user.
const commitTime = time.Minute

// commit commits a file alone, whatever else is staged, and gives the commit. If
// nothing has changed in it, that is the one that there is.
func commit(ctx context.Context, directory, file, message string) (hash string, err error) {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	file = ":(literal)" + file
	known, err := git(ctx, directory, "ls-files", "--", file)
	if err != nil {
		return "", err
	}
	if _, err := git(ctx, directory, "add", "--", file); err != nil {
		return "", err
	}
	changed, err := git(ctx, directory, "status", "--porcelain", "--", file)
	if err == nil && changed != "" {
		_, err = git(ctx, directory, "commit", "--quiet", "--message="+message, "--", file)
	}
	if err != nil {
		if known == "" {
			_, _ = git(context.WithoutCancel(ctx), directory, "rm", "--cached", "--quiet", "--", file) // as it was
		}
		return "", err
	}
	return git(ctx, directory, "rev-parse", "HEAD")
}

// git asks nobody. Its error is what it said last.
func git(ctx context.Context, directory string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", append([]string{"-C", directory}, args...)...) //nolint:gosec // which file is up to the user
	c.Env = workspace.GitEnvironment()
	c.WaitDelay = time.Second
	out, err := c.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", copilot.Errorf(copilot.Timeout, "git took more than %v", commitTime)
	case errors.As(err, &exit):
		return "", copilot.Errorf(copilot.Internal, "git: %s", lastLine(string(exit.Stderr)+"\n"+string(out), err))
	}
	return strings.TrimSpace(string(out)), err
}

func lastLine(text string, otherwise error) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := oneLine(lines[len(lines)-1]); last != "" {
		return last
	}
	return otherwise.Error()
}
