package portaltest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/copilot-portal/portal/copilot/git/gittest"
)

// GitHub stands in for the repository ada/engine on GitHub and for the GitHub CLI of a portal's user.
type GitHub struct {
	Bare string // the repository
	Home string // of the user; while it has a file "fail", the CLI fails with its content
}

// StartWithGitHub starts a portal whose user is Ada, with a stand-in for GitHub.
func StartWithGitHub(tb testing.TB, o Options) (*Portal, GitHub) {
	tb.Helper()
	g := GitHub{Home: tb.TempDir()}
	hub := filepath.Join(g.Home, "hub")
	g.Bare = filepath.Join(hub, "ada", "engine.git")
	gittest.Run(tb, g.Home, "init", "-q", "--bare", g.Bare)
	gittest.Write(tb, g.Home, ".gitconfig", fmt.Sprintf("[user]\n\tname = Ada\n\temail = ada@example.com\n[url %q]\n\tinsteadOf = https://github.com/\n", hub+"/"))
	gittest.Write(tb, g.Home, "bin/gh", fmt.Sprintf("#!/bin/sh\n[ \"$1\" = pr ] || exit 1\nif [ -e '%[1]s/fail' ]; then cat '%[1]s/fail' >&2; exit 1; fi\n"+
		"{ for a; do echo \"<$a>\"; done; cat; } >'%[1]s/args'\necho https://github.com/ada/engine/pull/7\n", g.Home))
	o.Home = g.Home
	path := os.Getenv("PATH") //nolint:forbidigo // for a child process
	o.Env = append(o.Env, "PATH="+filepath.Join(g.Home, "bin")+string(os.PathListSeparator)+path)
	return Start(tb, o), g
}

// Args returns the arguments of the CLI's last successful call, one per line in angle brackets, and its standard input.
func (g GitHub) Args(tb testing.TB) string {
	tb.Helper()
	args, err := os.ReadFile(filepath.Join(g.Home, "args"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(args)
}

// Clone creates a repository on the branch main with one commit of the given files and GitHub's as its origin.
func (g GitHub) Clone(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	gittest.Run(tb, dir, "init", "-q", "-b", "main")
	for name, text := range files {
		gittest.Write(tb, dir, name, text)
	}
	gittest.Run(tb, dir, "add", ".")
	gittest.Run(tb, dir, "commit", "-q", "-m", "first")
	gittest.Run(tb, dir, "remote", "add", "origin", "https://github.com/ada/engine.git")
}
