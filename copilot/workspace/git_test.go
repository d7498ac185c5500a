package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/workspace"
)

// git runs git as a user does.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// repository creates a repository with committed files.
func repository(t *testing.T, names ...string) string {
	t.Helper()
	t.Setenv("HOME", t.TempDir()) // without the settings of the user who runs the test
	dir := tree(t, names...)
	git(t, dir, "init", "-q", "-b", "trunk")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

// describe describes a directory in virtual time, in which git is never too slow.
func describe(t *testing.T, dir string) (d workspace.Description) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		d, err = workspace.Describe(t.Context(), dir)
		require.NoError(t, err)
	})
	return d
}

func TestRepositoryIsDescribed(t *testing.T) {
	dir := repository(t, "a", "b", "below/c", ".gitignore")
	describe := func(path string) *workspace.Git {
		d := describe(t, path)
		assert.True(t, d.Exists)
		return d.Git
	}
	assert.Equal(t, &workspace.Git{Branch: "trunk"}, describe(dir))
	require.NoError(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "z")))
	git(t, dir, "add", ".")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), []byte("other"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new\nline"), []byte("n"), 0o600))
	assert.Equal(t, &workspace.Git{Branch: "trunk", Changed: 4}, describe(dir), "gone, there, changed, new")
	assert.Equal(t, &workspace.Git{Branch: "trunk", Changed: 4}, describe(filepath.Join(dir, "below")))
	git(t, dir, "checkout", "-q", "--detach")
	assert.Equal(t, git(t, dir, "rev-parse", "--short", "HEAD"), describe(dir).Branch)
}

func TestRepositoryWithoutCommitsHasABranch(t *testing.T) {
	dir := tree(t, "a")
	git(t, dir, "init", "-q", "-b", "first")
	assert.Equal(t, &workspace.Git{Branch: "first", Changed: 1}, describe(t, dir).Git)
}

func TestChangedFilesAreCountedUpToALimit(t *testing.T) {
	dir := repository(t)
	for i := range workspace.MaxChanged + 100 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
	}
	assert.Equal(t, workspace.MaxChanged, describe(t, dir).Git.Changed)
}

func TestNonDirectoryIsReported(t *testing.T) {
	dir := tree(t, "file", "plain/")
	for path, want := range map[string]workspace.Description{
		"/file":       {Path: dir + "/file"},
		"/gone/x/../": {Path: dir + "/gone"},
		"/plain/":     {Path: dir + "/plain", Exists: true},
	} {
		d, err := workspace.Describe(t.Context(), dir+path)
		require.NoError(t, err)
		assert.Equal(t, want, d)
	}
}

func TestHookRepositoryIsIgnored(t *testing.T) {
	dir := repository(t, "a")
	t.Setenv("GIT_DIR", filepath.Join(dir, ".git"))
	d, err := workspace.Describe(t.Context(), t.TempDir())
	require.NoError(t, err)
	assert.Nil(t, d.Git)
}

func TestHangingGitIsAbandoned(t *testing.T) {
	dir, bin := repository(t, "a"), t.TempDir()
	found, err := exec.LookPath("git")
	require.NoError(t, err)
	script := "#!/bin/sh\ncase \"$*\" in *\"status --porcelain\"*) exec sleep 60;; esac\nexec " + found + " \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var d workspace.Description
	for began := time.Now(); d.Git == nil && time.Since(began) < time.Minute; { // on a busy machine, the time may be over before git has found the repository
		d, err = workspace.Describe(t.Context(), dir)
		require.NoError(t, err)
	}
	assert.Equal(t, &workspace.Git{Branch: "trunk", Changed: workspace.Unknown}, d.Git)
}

func TestMissingGitReportsNothing(t *testing.T) {
	dir := repository(t, "a")
	t.Setenv("PATH", t.TempDir())
	d, err := workspace.Describe(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, workspace.Description{Path: dir, Exists: true}, d)
}
