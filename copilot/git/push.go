package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// PullRequest is a pull request to create on GitHub.
type PullRequest struct {
	To          Remote // the repository that gets it
	From        Remote // where the branch is pushed; the same, or a fork
	Branch      string
	Base        string // the branch to merge into; "" for the repository's default
	Title, Body string
}

// HasGitHubCLI reports whether the GitHub CLI is installed.
func HasGitHubCLI() bool {
	_, err := exec.LookPath("gh")
	return err == nil
}

// Commands returns the commands of [Repository.Push] and [Repository.CreatePullRequest], to be shown. Texts that are longer than a line are cut.
func (p PullRequest) Commands() []string {
	return []string{show("git", p.push("HEAD")), show("gh", p.create())}
}

func (p PullRequest) push(commit string) []string {
	return []string{"push", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", p.From.URL, commit + ":refs/heads/" + p.Branch}
}

func (p PullRequest) create() []string {
	head := p.Branch
	if !p.From.IsSameOwner(p.To) {
		head = p.From.Owner + ":" + p.Branch
	}
	args := []string{"pr", "create", "--repo", "github.com/" + p.To.String(), "--head", head}
	if p.Base != "" {
		args = append(args, "--base", p.Base)
	}
	return append(args, "--title", p.Title, "--body-file", "-")
}

// show writes a command as in a shell, in one line.
func show(program string, args []string) string {
	var b strings.Builder
	b.WriteString(program)
	for _, arg := range args {
		line, _, more := strings.Cut(arg, "\n")
		if more {
			line += "…"
		}
		if line == "" || strings.ContainsFunc(line, func(r rune) bool { return !strings.ContainsRune(plainRunes, r) }) {
			line = "'" + strings.ReplaceAll(line, "'", `'\''`) + "'"
		}
		b.WriteString(" " + line)
	}
	return b.String()
}

const plainRunes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=@,+"

// Push pushes the last commit to the branch of a pull request. It never forces. It reads the configuration of the user, which
// may name programs that sign in, but not that of the repository, and runs no hook. On failure, the error has git's output.
func (r *Repository) Push(ctx context.Context, p PullRequest) error {
	if err := r.copyHead(); err != nil {
		return err
	}
	commit, err := r.run(ctx, nil, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return err
	}
	if _, err := r.run(ctx, nil, "check-ref-format", "--branch", p.Branch); err != nil {
		return err
	}
	env := append(environment(signIn...), "GIT_DIR="+r.ownDir, "GIT_ALLOW_PROTOCOL=https:ssh:file", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0="+os.DevNull, "GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false")
	c := call(ctx, r.ownDir, env, p.push(commit)...)
	withoutTerminal(c)
	_, err = output(ctx, c)
	return err
}

// signIn lists the variables that a push needs besides those of every call.
var signIn = []string{ //nolint:gochecknoglobals // a table
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS",
	"http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "no_proxy", "NO_PROXY", "GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GH_TOKEN", "GITHUB_TOKEN", "GH_CONFIG_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	"DISPLAY", "WAYLAND_DISPLAY", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "SystemRoot",
}

// pullAddress matches the address of a pull request. The repository in it may be renamed.
var pullAddress = regexp.MustCompile(`^https://github\.com/[\w.-]+/[\w.-]+/pull/\d+$`)

// CreatePullRequest runs the GitHub CLI, outside of the repository, whose configuration it does not read. It returns the address of
// the pull request. On failure, the error has its output.
func (r *Repository) CreatePullRequest(ctx context.Context, p PullRequest) (address string, err error) {
	dir, err := os.MkdirTemp("", "portal-gh-call-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()           // a leftover empty directory is harmless
	c := exec.CommandContext(ctx, "gh", p.create()...) //nolint:gosec // no part is a program or an option
	c.Dir, c.WaitDelay = dir, waitDelay
	c.Env = append(environment(signIn...), "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_COLOR=1", "GIT_CEILING_DIRECTORIES="+dir, "BROWSER=true")
	c.Stdin = strings.NewReader(p.Body) // an argument would be limited, and visible to other users
	withoutTerminal(c)
	out, err := output(ctx, c)
	var failed *Error
	switch {
	case errors.As(err, &failed):
		return "", fmt.Errorf("gh: %s", failed.Output)
	case err != nil:
		return "", err
	}
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); pullAddress.MatchString(line) {
			return line, nil
		}
	}
	return "", fmt.Errorf("gh: it named no pull request: %s", strings.TrimSpace(out))
}
