package git_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

func TestCaseOfFileSystemIsFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work", "1")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	_, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(dir)), "WORK"))
	p, found := (&git.Finder{Directory: dir}).Find(t.Context())
	require.NoError(t, found)
	assert.Equal(t, err == nil, p.FoldsCase)
}

// A second link to the repository's file makes the directory look like the mount point of such a file system.
func TestCaseOfMountedFileSystemIsFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	gittest.Run(t, project(t), "worktree", "add", "--detach", dir)
	_ = os.Link(filepath.Join(dir, ".git"), filepath.Join(dir, ".GIT")) // it exists if the file system is one
	p, err := (&git.Finder{Directory: dir}).Find(t.Context())
	require.NoError(t, err)
	assert.True(t, p.FoldsCase)
}

// countingGit makes calls of git count, and returns how many of a command there were.
func countingGit(t *testing.T) func(command string) int {
	t.Helper()
	program, err := exec.LookPath("git")
	require.NoError(t, err)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\necho \" $* \" >>%s\nexec %s \"$@\"\n", log, program)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func(command string) int {
		calls, _ := os.ReadFile(log)
		return strings.Count(string(calls), " "+command+" ")
	}
}

func TestGitIsAskedForRepositoryAgainOnlyIfItMayHaveChanged(t *testing.T) {
	dir := project(t)
	below := filepath.Join(dir, "sub")
	require.NoError(t, os.Mkdir(below, 0o700))
	calls := countingGit(t)
	f := git.Finder{Directory: below}
	asked := 0
	find := func(again bool) git.Place {
		t.Helper()
		p, err := f.Find(t.Context())
		require.NoError(t, err)
		if again {
			asked++
		}
		assert.Equal(t, asked, calls("rev-parse"))
		return p
	}
	assert.Equal(t, dir, find(true).Top)
	gittest.Write(t, dir, ".gitignore", "*.log\n")
	gittest.Write(t, dir, ".git/info/exclude", "x\n")
	gittest.Write(t, dir, "sub/forced.log", "x\n")
	gittest.Run(t, dir, "add", "-f", "sub/forced.log")
	p := find(false)
	assert.Equal(t, []string{"forced.log"}, p.Forced)
	assert.Equal(t, "x\n", string(p.Excludes))
	gittest.Run(t, dir, "config", "core.excludesFile", "/mine")
	assert.Equal(t, "/mine", find(true).ExcludesFile)
	gittest.Run(t, dir, "config", "--unset", "core.excludesFile")
	gittest.Run(t, dir, "config", "--global", "core.excludesFile", "/ours")
	assert.Equal(t, "/ours", find(true).ExcludesFile)
	find(false)
	gittest.Run(t, below, "init", "-q")
	assert.Equal(t, below, find(true).Top)
	require.NoError(t, os.RemoveAll(filepath.Join(below, ".git")))
	assert.Equal(t, dir, find(true).Top)
	require.NoError(t, os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "git")))
	assert.Equal(t, below, find(false).Top, "git is not needed for that")
}
