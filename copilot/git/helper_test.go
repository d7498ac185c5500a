package git_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

// project creates a repository with an author and one commit of a.md.
func project(t *testing.T, options ...string) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	gittest.Write(t, home, ".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.com\n")
	dir := t.TempDir()
	gittest.Run(t, dir, append([]string{"init", "-q", "-b", "trunk"}, options...)...)
	gittest.Write(t, dir, "a.md", "a\n")
	gittest.Write(t, dir, "left/out.md", "a\n")
	gittest.Run(t, dir, "add", ".")
	gittest.Run(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func open(t *testing.T, dir string) *git.Repository {
	t.Helper()
	r, err := git.Open(t.Context(), dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func changed(t *testing.T, dir string) []string {
	t.Helper()
	lines := []string{}
	require.NoError(t, open(t, dir).Changed(t.Context(), func(line string) bool {
		lines = append(lines, line)
		return true
	}))
	return lines
}

// locks returns the lock files in a repository.
func locks(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, ".git"), func(path string, _ os.DirEntry, err error) error {
		if filepath.Ext(path) == ".lock" {
			found = append(found, path)
		}
		return err
	}))
	return found
}

func timeout(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
