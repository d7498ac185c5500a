package git_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

func TestHarmlessSettingsApply(t *testing.T) {
	dir := project(t)
	home := os.Getenv("HOME")
	gittest.Write(t, home, ".config/git/ignore", "*.default\n")
	gittest.Write(t, home, "mine", "*.log\n")
	gittest.Write(t, dir, "x.default", "")
	gittest.Write(t, dir, "x.log", "")
	assert.Equal(t, []string{"?? x.log"}, changed(t, dir))
	gittest.Run(t, dir, "config", "--global", "core.excludesFile", "~/mine")
	assert.Equal(t, []string{"?? x.default"}, changed(t, dir))
	gittest.Run(t, dir, "config", "status.showUntrackedFiles", "no")
	require.NoError(t, os.Chmod(filepath.Join(dir, "a.md"), 0o600))
	assert.Equal(t, []string{" M a.md"}, changed(t, dir))
	gittest.Run(t, dir, "config", "core.fileMode", "false")
	assert.Empty(t, changed(t, dir))
}

func TestRepositoryOfAnotherUserIsNotTrusted(t *testing.T) {
	dir := project(t)
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(dir, 12345, 12345))
		require.NoError(t, os.Chown(filepath.Join(dir, ".git"), 12345, 12345))
	} else {
		t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	}
	_, err := git.Open(t.Context(), dir)
	if os.Getuid() == 0 {
		require.ErrorIs(t, err, git.ErrNoRepository)
		require.ErrorContains(t, err, "dubious ownership")
		gittest.Write(t, os.Getenv("HOME"), ".gitconfig", "[safe]\n\tdirectory = "+dir+"\n")
	}
	assert.Empty(t, changed(t, dir))
}

func TestNothingIsLeftBehind(t *testing.T) {
	dir := project(t)
	t.Setenv("TMPDIR", t.TempDir())
	r, err := git.Open(t.Context(), dir)
	require.NoError(t, err)
	gittest.Write(t, dir, "plan.md", "# Plan\n")
	_, err = r.Commit(t.Context(), "plan.md", "Plan")
	require.NoError(t, err)
	require.NoError(t, r.Close())
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestBlockingRepositoryIsAbandoned(t *testing.T) {
	for _, name := range []string{".git/HEAD", ".git/config", ".gitignore", ".git/index"} {
		t.Run(name, func(t *testing.T) {
			dir := project(t)
			path := filepath.Join(dir, name)
			_ = os.Remove(path)
			require.NoError(t, syscall.Mkfifo(path, 0o600))
			ctx := timeout(t, 300*time.Millisecond)
			r, err := git.Open(ctx, dir)
			if err == nil {
				defer r.Close()
				err = r.Changed(ctx, func(string) bool { return true })
			}
			require.Error(t, err)
		})
	}
}

func TestFailedListSaysWhy(t *testing.T) {
	dir := project(t)
	r := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.ErrorIs(t, r.Files(ctx, func(string) bool { cancel(); return true }), context.Canceled)
	gittest.Write(t, dir, ".git/index", "no index")
	var failed *git.Error
	err := r.Changed(t.Context(), func(string) bool { return true })
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, "index file")
}
