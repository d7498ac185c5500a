package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

func TestCommitRunsNothingThatTheRepositoryDefines(t *testing.T) {
	trap := gittest.NewTrap(t)
	gittest.Run(t, trap.Dir, "config", "--global", "user.name", "Ada")
	gittest.Run(t, trap.Dir, "config", "--global", "user.email", "ada@example.com")
	trap.Reset(t)
	gittest.Write(t, trap.Dir, "plan.md", "# Plan\n")
	hash, err := open(t, trap.Dir).Commit(t.Context(), "plan.md", "Plan")
	require.NoError(t, err)
	_, err = open(t, trap.Dir).Commit(t.Context(), "a.txt", "Filtered")
	require.ErrorContains(t, err, `the file has the filter "trap", which the portal does not run`)
	assert.Empty(t, trap.Markers(t))
	assert.Equal(t, "plan.md", gittest.Run(t, trap.Dir, "show", "--format=", "--name-only", "--no-show-signature", hash))
	assert.Contains(t, trap.Trigger(t), "hook.pre-commit", "control: plain git runs the programs")
}

func TestCommitContainsOneFile(t *testing.T) {
	dir := project(t)
	gittest.Write(t, dir, "staged.md", "s\n")
	gittest.Run(t, dir, "add", "staged.md")
	gittest.Write(t, dir, "a.md", "changed\n")
	gittest.Write(t, dir, "docs/:*.sh", "#!/bin/sh\n")
	r := open(t, filepath.Join(dir, "docs"))
	hash, err := r.Commit(t.Context(), ":*.sh", "Add a script\n\nWith a body. \n")
	require.NoError(t, err)
	assert.Equal(t, hash, gittest.Run(t, dir, "rev-parse", "trunk"))
	assert.Equal(t, "docs/:*.sh", gittest.Run(t, dir, "show", "--format=", "--name-only"))
	assert.Contains(t, gittest.Run(t, dir, "ls-tree", "-r", "HEAD"), "100755")
	assert.Equal(t, "Add a script\n\nWith a body.\nAda <ada@example.com> Ada <ada@example.com>",
		gittest.Run(t, dir, "show", "-s", "--format=%B%an <%ae> %cn <%ce>"))
	assert.Equal(t, " M a.md\nA  staged.md", " "+gittest.Run(t, dir, "status", "--porcelain"))
	assert.Contains(t, gittest.Run(t, dir, "reflog", "HEAD"), "HEAD@{0}: commit: Add a script")
	assert.Contains(t, gittest.Run(t, dir, "reflog", "trunk"), "trunk@{0}: commit: Add a script")
	again, err := r.Commit(t.Context(), ":*.sh", "Again")
	require.NoError(t, err)
	assert.Equal(t, hash, again, "the file has not changed")
	gittest.Run(t, dir, "fsck", "--strict")
	assert.Empty(t, locks(t, dir))
}

func TestCommitGoesToCheckedOutBranch(t *testing.T) {
	type prepare func(t *testing.T, dir string) string
	plainly := func(args ...string) prepare {
		return func(t *testing.T, dir string) string {
			t.Helper()
			gittest.Run(t, dir, args...)
			return dir
		}
	}
	worktree := func(args ...string) prepare {
		return func(t *testing.T, dir string) string {
			t.Helper()
			linked := filepath.Join(t.TempDir(), "linked")
			gittest.Run(t, dir, append([]string{"worktree", "add", "-q", linked}, args...)...)
			return linked
		}
	}
	for name, prepare := range map[string]prepare{
		"a branch":                      plainly("status"),
		"packed references":             plainly("pack-refs", "--all"),
		"a commit":                      plainly("checkout", "-q", "--detach"),
		"a split index":                 plainly("update-index", "--split-index"),
		"a sparse index":                plainly("sparse-checkout", "set", "--cone", "--sparse-index", "docs"),
		"another work tree":             worktree("-b", "topic"),
		"another work tree at a commit": worktree("--detach"),
		"no reflog": func(t *testing.T, dir string) string {
			t.Helper()
			require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git", "logs")))
			return dir
		},
		"a link to the work tree": func(t *testing.T, dir string) string {
			t.Helper()
			link := filepath.Join(t.TempDir(), "link")
			require.NoError(t, os.Symlink(dir, link))
			return link
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := prepare(t, project(t))
			gittest.Write(t, dir, "plan.md", "# Plan\n")
			head := gittest.Run(t, dir, "rev-parse", "HEAD")
			hash, err := open(t, dir).Commit(t.Context(), "plan.md", "Plan")
			require.NoError(t, err)
			assert.Equal(t, hash, gittest.Run(t, dir, "rev-parse", "HEAD"))
			assert.Equal(t, head, gittest.Run(t, dir, "rev-parse", "HEAD^"))
			assert.Empty(t, gittest.Run(t, dir, "status", "--porcelain"))
			assert.Empty(t, changed(t, dir))
		})
	}
}

func TestFirstCommitCanBeMade(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		dir := t.TempDir()
		project(t) // sets the author
		gittest.Run(t, dir, "init", "-q", "-b", "trunk", "--object-format="+format)
		gittest.Write(t, dir, "plan.md", "# Plan\n")
		hash, err := open(t, dir).Commit(t.Context(), "plan.md", "Plan")
		require.NoError(t, err)
		assert.Equal(t, hash, gittest.Run(t, dir, "rev-parse", "trunk"))
		gittest.Write(t, dir, "plan.md", "# Better\n")
		_, err = open(t, dir).Commit(t.Context(), "plan.md", "Better")
		require.NoError(t, err)
		assert.Equal(t, "2", gittest.Run(t, dir, "rev-list", "--count", "HEAD"))
		assert.Empty(t, changed(t, dir))
	}
}

func TestFailedCommitChangesNothing(t *testing.T) {
	for why, commands := range map[string][][]string{
		"another git process is at work": {{"touch", ".git/index.lock"}},
		"Unable to create":               {{"touch", ".git/refs/heads/trunk.lock"}},
		"ignored by .gitignore":          {{"sh", "-c", "echo plan.md >.git/info/exclude"}},
		"has the filter \"lfs\"":         {{"sh", "-c", "echo '*.md filter=lfs' >.git/info/attributes"}},
		"a merge is in progress":         {{"cp", ".git/refs/heads/trunk", ".git/MERGE_HEAD"}},
		"lies in another repository":     {{"git", "init", "-q", "docs"}},
		"the file is missing":            {{"rm", "docs/plan.md"}},
		"no email was given": {
			{"git", "config", "--global", "--remove-section", "user"},
			{"git", "config", "user.useConfigOnly", "true"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			dir := project(t)
			gittest.Write(t, dir, "docs/plan.md", "# Plan\n")
			for _, words := range commands {
				c := exec.Command(words[0], words[1:]...)
				c.Dir = dir
				require.NoError(t, c.Run())
			}
			before, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
			require.NoError(t, err)
			left := locks(t, dir)
			_, err = open(t, dir).Commit(t.Context(), "docs/plan.md", "Plan")
			require.ErrorContains(t, err, why)
			assert.Equal(t, "1", gittest.Run(t, dir, "rev-list", "--count", "HEAD"))
			after, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
			require.NoError(t, err)
			assert.Equal(t, before, after)
			assert.Equal(t, left, locks(t, dir))
		})
	}
}

func TestIgnoredTrackedFileIsCommitted(t *testing.T) {
	dir := project(t)
	gittest.Write(t, dir, ".git/info/exclude", "a.md\n")
	gittest.Write(t, dir, "a.md", "changed\n")
	_, err := open(t, dir).Commit(t.Context(), "a.md", "Change")
	require.NoError(t, err)
	assert.Empty(t, changed(t, dir))
}

func TestFileOutsideWorkTreeIsNotCommitted(t *testing.T) {
	_, err := open(t, project(t)).Commit(t.Context(), "../x", "x")
	require.ErrorContains(t, err, "outside of the work tree")
}

func TestMissingRepositoryIsNamed(t *testing.T) {
	dir := t.TempDir()
	_, err := git.Open(t.Context(), dir)
	require.ErrorIs(t, err, git.ErrNoRepository)
	gittest.Run(t, dir, "init", "-q", "--bare")
	_, err = git.Open(t.Context(), dir)
	require.ErrorIs(t, err, git.ErrNoRepository, "a bare repository has no work tree")
}
