package git_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

func status(t *testing.T, dir string) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", dir, "status", "--porcelain", "--no-renames", "--untracked-files=all").Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimRight(string(out), "\n"), "\n")
}

func committed(t *testing.T, dir string) []string {
	t.Helper()
	return strings.Split(gittest.Run(t, dir, "show", "--format=", "--name-status", "--no-renames", "HEAD"), "\n")
}

func TestCommitContainsChosenFilesOnly(t *testing.T) {
	dir := project(t)
	for _, name := range []string{"gone.md", "other gone.md", "place", "kept.md", "-odd", "dir/deep.md"} {
		gittest.Write(t, dir, name, "first\n")
	}
	gittest.Run(t, dir, "add", ".")
	gittest.Run(t, dir, "commit", "-q", "-m", "second")
	gittest.Write(t, dir, "a.md", "staged\n")
	gittest.Write(t, dir, "staged.md", "s\n")
	gittest.Write(t, dir, "meant.md", "later\n")
	gittest.Run(t, dir, "add", "staged.md")
	gittest.Run(t, dir, "add", "-N", "meant.md")
	gittest.Run(t, dir, "rm", "-q", "other gone.md")
	gittest.Write(t, dir, "kept.md", "staged\n")
	gittest.Run(t, dir, "add", "kept.md")
	gittest.Write(t, dir, "kept.md", "unstaged\n")
	require.NoError(t, os.Remove(filepath.Join(dir, "gone.md")))
	require.NoError(t, os.Remove(filepath.Join(dir, "place")))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "dir")))
	gittest.Write(t, dir, "place/inner.md", "a directory now\n")
	gittest.Write(t, dir, "dir", "a file now\n")
	gittest.Write(t, dir, "-odd", "changed\n")
	gittest.Write(t, dir, ":(top)*\n\xff", "odd\n")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))

	hash, err := open(t, dir).CommitFiles(t.Context(), []string{
		"a.md", "gone.md", "place", "place/inner.md", "dir/deep.md", "dir", "-odd", ":(top)*\n\xff", "link", "a.md", "never.md",
	}, "Several")
	require.NoError(t, err)
	assert.Equal(t, hash, gittest.Run(t, dir, "rev-parse", "trunk"))
	assert.ElementsMatch(t, []string{
		"M\t-odd", `A	":(top)*\n\377"`, "M\ta.md", "D\tdir/deep.md", "A\tdir", "D\tgone.md", "A\tlink", "D\tplace", "A\tplace/inner.md",
	}, committed(t, dir))
	assert.Equal(t, []string{"MM kept.md", " A meant.md", `D  "other gone.md"`, "A  staged.md"}, status(t, dir))
	assert.Equal(t, "staged", gittest.Run(t, dir, "show", ":kept.md"))
	assert.Equal(t, "/etc/passwd", gittest.Run(t, dir, "show", "HEAD:link"))
	gittest.Run(t, dir, "fsck", "--strict")
	assert.Empty(t, locks(t, dir))
}

func TestFilesOutsideOfSparseCheckoutStay(t *testing.T) {
	for _, options := range [][]string{{"--cone", "--sparse-index"}, {"--cone"}, {"--no-cone"}} {
		dir := project(t)
		gittest.Write(t, dir, "docs/plan.md", "a\n")
		gittest.Run(t, dir, "add", ".")
		gittest.Run(t, dir, "commit", "-q", "-m", "second")
		gittest.Run(t, dir, append(append([]string{"sparse-checkout", "set"}, options...), "docs")...)
		gittest.Write(t, dir, "docs/plan.md", "b\n")
		gittest.Write(t, dir, "docs/new.md", "b\n")
		_, err := open(t, dir).CommitFiles(t.Context(), []string{"docs/plan.md", "docs/new.md"}, "Two")
		require.NoError(t, err)
		assert.Equal(t, []string{"A\tdocs/new.md", "M\tdocs/plan.md"}, committed(t, dir))
		assert.Contains(t, gittest.Run(t, dir, "ls-tree", "-r", "--name-only", "HEAD"), "left/out.md")
		assert.Equal(t, []string{""}, status(t, dir))
	}
}

func TestConflictsAndUnfinishedWorkAreRefused(t *testing.T) {
	for why, commands := range map[string][]string{
		"the file has conflicts":  {"stash -q", "EDIT", "commit -q -a -m other", "FAIL stash pop"},
		"a merge is in progress":  {"commit -q -a -m mine", "switch -q -c other HEAD~1", "EDIT", "commit -q -a -m other", "FAIL merge trunk"},
		"a rebase is in progress": {"commit -q -a -m mine", "switch -q -c other HEAD~1", "EDIT", "commit -q -a -m other", "FAIL rebase trunk"},
	} {
		t.Run(why, func(t *testing.T) {
			dir := project(t)
			gittest.Write(t, dir, "a.md", "mine\n")
			for _, command := range commands {
				switch line, fails := strings.CutPrefix(command, "FAIL "); {
				case command == "EDIT":
					gittest.Write(t, dir, "a.md", "other\n")
				case fails:
					require.Error(t, exec.Command("git", append([]string{"-C", dir}, strings.Fields(line)...)...).Run())
				default:
					gittest.Run(t, dir, strings.Fields(command)...)
				}
			}
			before := gittest.Run(t, dir, "rev-parse", "HEAD")
			r := open(t, dir)
			_, err := r.CommitFiles(t.Context(), []string{"a.md"}, "Mine")
			require.ErrorContains(t, err, why)
			assert.Equal(t, before, gittest.Run(t, dir, "rev-parse", "HEAD"))
			list, _, err := r.Candidates(t.Context(), []string{"a.md"})
			require.NoError(t, err)
			assert.Equal(t, []git.Candidate{{Path: "a.md", Problem: "it has conflicts"}}, list)
			head, err := r.Head(t.Context())
			require.NoError(t, err)
			if why != "the file has conflicts" {
				assert.Contains(t, head.Problem, why)
			}
		})
	}
}

func TestCandidatesAreWhatCommitTakes(t *testing.T) {
	dir := project(t)
	gittest.Write(t, dir, ".gitattributes", "*.bin filter=lfs\n")
	gittest.Write(t, dir, ".gitignore", "*.log\n")
	gittest.Run(t, dir, "init", "-q", "nested")
	gittest.Write(t, dir, "nested/x.md", "x\n")
	gittest.Run(t, filepath.Join(dir, "nested"), "add", ".")
	gittest.Run(t, filepath.Join(dir, "nested"), "commit", "-q", "-m", "nested")
	for _, name := range []string{"sub/b.bin", "sub/c.log", "sub/d.md", "sub/staged.md", "mine.md"} {
		gittest.Write(t, dir, name, "new\n")
	}
	gittest.Run(t, dir, "add", "sub/staged.md", "mine.md")
	require.NoError(t, os.Remove(filepath.Join(dir, "left/out.md")))
	r := open(t, filepath.Join(dir, "sub"))
	list, staged, err := r.Candidates(t.Context(), []string{"../../outside", "../nested", "../nested/x.md", "d.md", "c.log", "b.bin", "../left/out.md", "../a.md", "staged.md"})
	require.NoError(t, err)
	assert.Equal(t, []git.Candidate{
		{Path: "../nested", Problem: "it is another repository"},
		{Path: "d.md"},
		{Path: "b.bin", Problem: "it has a filter, which the portal does not run"},
		{Path: "../left/out.md"},
		{Path: "staged.md"},
	}, list)
	assert.Equal(t, 1, staged)
	for _, refused := range []string{"../nested", "../nested/x.md", "b.bin", "c.log", "../../outside", "../sub"} {
		_, err := r.CommitFiles(t.Context(), []string{"d.md", refused}, "Refused")
		require.Error(t, err, refused)
	}
	assert.Equal(t, "1", gittest.Run(t, dir, "rev-list", "--count", "HEAD"))
	_, err = r.CommitFiles(t.Context(), []string{"d.md", "../left/out.md", "staged.md"}, "Three")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"A\tsub/d.md", "A\tsub/staged.md", "D\tleft/out.md"}, committed(t, dir))
}

func TestHeadSaysWhatACommitGoesWithout(t *testing.T) {
	dir := project(t)
	head, err := open(t, dir).Head(t.Context())
	require.NoError(t, err)
	assert.Equal(t, git.Head{Branch: "trunk", Author: "Ada <ada@example.com>"}, head)
	gittest.Write(t, dir, "hooks of mine/pre-commit", "#!/bin/sh\nexit 1\n")
	gittest.Run(t, dir, "config", "core.hooksPath", "hooks of mine")
	gittest.Run(t, dir, "config", "commit.gpgSign", "true")
	gittest.Run(t, dir, "config", "gpg.program", "/does/not/exist")
	gittest.Run(t, dir, "checkout", "-q", "--detach")
	head, err = open(t, dir).Head(t.Context())
	require.NoError(t, err)
	assert.Equal(t, git.Head{Author: "Ada <ada@example.com>", Hooks: []string{"pre-commit"}, IsSigned: true}, head)
	gittest.Write(t, dir, "a.md", "b\n")
	_, err = open(t, dir).CommitFiles(t.Context(), []string{"a.md"}, "Without hooks")
	require.NoError(t, err)
	gittest.Run(t, dir, "config", "--global", "--remove-section", "user")
	gittest.Run(t, dir, "config", "user.useConfigOnly", "true")
	head, err = open(t, dir).Head(t.Context())
	require.NoError(t, err)
	assert.Contains(t, head.Problem, "git does not know who you are")
}

func TestManyFilesAreCommittedAtOnce(t *testing.T) {
	dir := project(t)
	var names []string
	for i := range 4000 {
		names = append(names, fmt.Sprintf("many/%s-%d.md", strings.Repeat("x", 100), i)) // too long for arguments
	}
	for _, name := range names {
		gittest.Write(t, dir, name, name)
	}
	_, err := open(t, dir).CommitFiles(t.Context(), names, "Many")
	require.NoError(t, err)
	assert.Empty(t, changed(t, dir))
}

func TestIndexKeepsItsTime(t *testing.T) {
	dir := project(t)
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	gittest.Write(t, dir, "b.md", "1\n")
	gittest.Write(t, dir, "a.md", "1\n")
	gittest.Run(t, dir, "add", ".")
	gittest.Run(t, dir, "commit", "-q", "-m", "both")
	require.NoError(t, os.Chtimes(filepath.Join(dir, "b.md"), old, old))
	gittest.Run(t, dir, "update-index", "-q", "--refresh")
	index := filepath.Join(dir, ".git", "index")
	require.NoError(t, os.Chtimes(index, old, old)) // as new as the file
	gittest.Write(t, dir, "b.md", "2\n")
	require.NoError(t, os.Chtimes(filepath.Join(dir, "b.md"), old, old))
	gittest.Write(t, dir, "a.md", "2 of the other\n")
	_, err := open(t, dir).CommitFiles(t.Context(), []string{"a.md"}, "Only the other")
	require.NoError(t, err)
	assert.Equal(t, []string{" M b.md"}, status(t, dir), "the change is not hidden")
}

func TestCommitIsCompleteOnceItsReferenceMoved(t *testing.T) {
	dir := project(t)
	gittest.Write(t, dir, "a.md", "later\n")
	ctx, cancel := context.WithCancel(t.Context())
	// The reflog of the branch is a pipe: git waits there, in the middle of moving the reference.
	log := filepath.Join(dir, ".git", "logs", "refs", "heads", "trunk")
	require.NoError(t, os.Remove(log))
	require.NoError(t, exec.Command("mkfifo", log).Run())
	done, r := make(chan error), open(t, dir)
	go func() {
		_, err := r.CommitFiles(ctx, []string{"a.md"}, "Later")
		done <- err
	}()
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, ".git", "refs", "heads", "trunk.lock"))
		return err == nil
	}, 30*time.Second, time.Millisecond)
	cancel()
	pipe, err := os.Open(log) // lets git continue
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, pipe)
	require.NoError(t, <-done)
	require.NoError(t, pipe.Close())
	require.NoError(t, os.Remove(log))
	assert.Equal(t, "later", gittest.Run(t, dir, "show", "HEAD:a.md"))
	assert.Equal(t, []string{""}, status(t, dir))
	assert.Empty(t, locks(t, dir))
}

func TestFileThatGitSkipsIsNotDeleted(t *testing.T) {
	dir := project(t)
	gittest.Run(t, dir, "update-index", "--skip-worktree", "a.md")
	gittest.Write(t, dir, "a.md", "mine\n")
	head := gittest.Run(t, dir, "rev-parse", "HEAD")
	_, err := open(t, dir).CommitFiles(t.Context(), []string{"a.md"}, "Skipped")
	require.NoError(t, err)
	assert.Equal(t, head, gittest.Run(t, dir, "rev-parse", "HEAD"))
}

func TestFirstCommitIsNotEmpty(t *testing.T) {
	dir := t.TempDir()
	gittest.Run(t, dir, "init", "-q", "-b", "trunk")
	_, err := open(t, dir).CommitFiles(t.Context(), []string{"gone.md"}, "Nothing")
	require.ErrorContains(t, err, "nothing to commit")
	require.Error(t, exec.Command("git", "-C", dir, "rev-parse", "--verify", "HEAD").Run())
	assert.Empty(t, locks(t, dir))
}

func TestIndexThatIsNoFileIsRefused(t *testing.T) {
	dir := project(t)
	index := filepath.Join(dir, ".git", "index")
	require.NoError(t, os.Remove(index))
	require.NoError(t, exec.Command("mkfifo", index).Run())
	r := open(t, dir)
	_, err := r.CommitFiles(t.Context(), []string{"a.md"}, "Never")
	require.ErrorContains(t, err, "index of the repository is not valid")
}

func TestFilesThatCannotBeCommittedAreNamed(t *testing.T) {
	dir := project(t)
	gittest.Write(t, dir, ".gitignore", "secret\n")
	gittest.Write(t, dir, "secret", "s\n")
	gittest.Run(t, dir, "add", "-f", ".")
	gittest.Run(t, dir, "commit", "-q", "-m", "all")
	gittest.Run(t, dir, "rm", "-q", "--cached", "secret")
	gittest.Write(t, dir, "new.md", "n\n")
	gittest.Run(t, dir, "add", "new.md")
	require.NoError(t, os.Remove(filepath.Join(dir, "new.md")))
	list, _, err := open(t, dir).Candidates(t.Context(), []string{"secret", "new.md"})
	require.NoError(t, err)
	assert.Equal(t, []git.Candidate{{Path: "secret", Problem: "git ignores it"}, {Path: "new.md", Problem: "it is staged but deleted: unstage it yourself"}}, list)
}
