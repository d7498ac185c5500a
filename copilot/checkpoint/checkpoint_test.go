package checkpoint_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

func TestChangesNameWhatHappenedToEachFile(t *testing.T) {
	dir := repository(t)
	for _, name := range []string{"edit.txt", "move.txt", "gone.txt", "mode.sh", "a b\n\"c\".txt", "*.glob", ":(top)x"} {
		write(t, dir, name, name+"\n"+strings.Repeat("line\n", 20))
	}
	s := open(t, dir)
	from := take(t, s, "from")
	write(t, dir, "edit.txt", "edit.txt\nnew\n"+strings.Repeat("line\n", 19))
	require.NoError(t, os.Rename(filepath.Join(dir, "move.txt"), filepath.Join(dir, "moved.txt")))
	remove(t, dir, "gone.txt")
	require.NoError(t, os.Chmod(filepath.Join(dir, "mode.sh"), 0o755))
	write(t, dir, "new/binary", "\x00\x01")
	write(t, dir, "a b\n\"c\".txt", "hostile\n")
	write(t, dir, "*.glob", "glob\n")
	write(t, dir, ":(top)x", "pathspec\n")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	to := take(t, s, "to")
	changes := changesOf(t, s, from, to)
	assert.Equal(t, []string{
		`modified "*.glob" +1 -21`, `modified ":(top)x" +1 -21`, `modified "a b\n\"c\".txt" +1 -22`, `modified "edit.txt" +1 -1`,
		`deleted "gone.txt" +0 -21`, `added "link" +1 -0`, `modified "mode.sh" +0 -0`,
		`renamed "moved.txt" +0 -0 from "move.txt"`, `added "new/binary" +0 -0 binary`,
	}, summary(changes))
	now := changesOf(t, s, from, checkpoint.Checkpoint{})
	assert.Equal(t, changes, now)
	for _, name := range []string{"*.glob", ":(top)x", "a b\n\"c\".txt"} {
		d := diffOf(t, s, from, to, name)
		assert.Len(t, d.Hunks, 1)
	}
}

func TestCheckpointsLeaveRepositoryAlone(t *testing.T) {
	dir := repository(t)
	write(t, dir, "staged.txt", "s")
	gittest.Run(t, dir, "add", "staged.txt")
	write(t, dir, "untracked.txt", "u")
	before := gitState(t, dir)
	s := open(t, dir)
	c := take(t, s, "a")
	write(t, dir, "a.txt", "changed")
	_, err := s.Restore(t.Context(), revertAction, "r", c)
	require.NoError(t, err)
	_, err = s.Undo(t.Context(), revertAction, "u", "")
	require.NoError(t, err)
	assert.Equal(t, before, gitState(t, dir))
}

func TestNothingThatRepositoryDefinesRuns(t *testing.T) {
	trap := gittest.NewTrap(t)
	s := open(t, trap.Dir)
	a := take(t, s, "a")
	gittest.Write(t, trap.Dir, "a.txt", "changed\r\n")
	gittest.Write(t, trap.Dir, "a.dat", "changed\r\n")
	b := take(t, s, "b")
	diffOf(t, s, a, b, "a.txt")
	gittest.Write(t, trap.Dir, "a.txt", "changed\r\nlater\n")
	_, err := s.Restore(t.Context(), revertAction, "r", b)
	require.NoError(t, err)
	assert.Equal(t, "changed\r\n", read(t, trap.Dir, "a.txt"))
	_, err = s.Revert(t.Context(), revertAction, "v", a, b, checkpoint.Selection{})
	require.NoError(t, err)
	assert.Equal(t, "b\n", read(t, trap.Dir, "a.txt"))
	require.NoError(t, s.Forget(t.Context(), session))
	assert.Empty(t, trap.Markers(t))
	assert.NotEmpty(t, trap.Trigger(t), "control: plain git runs the programs")
}

func TestExcludedLargeAndNestedFilesAreNotCovered(t *testing.T) {
	dir := repository(t)
	write(t, dir, ".gitignore", "*.log\n")
	write(t, dir, ".git/info/exclude", "secret\n")
	write(t, dir, "x.log", "log")
	write(t, dir, "secret", "s")
	write(t, dir, "forced.log", "tracked although it is ignored")
	gittest.Run(t, dir, "add", "--force", "forced.log")
	write(t, dir, "large", strings.Repeat("x", 20_000))
	write(t, dir, "nested/x", "n")
	write(t, dir, "empty/x", "n")
	gittest.Run(t, filepath.Join(dir, "nested"), "init", "-q")
	gittest.Run(t, filepath.Join(dir, "nested"), "add", ".")
	gittest.Run(t, filepath.Join(dir, "nested"), "commit", "-q", "-m", "n")
	gittest.Run(t, filepath.Join(dir, "empty"), "init", "-q")
	s := open(t, dir)
	a := take(t, s, "a")
	assert.ElementsMatch(t, []checkpoint.Uncovered{{Path: "large", Why: checkpoint.Large}, {Path: "nested", Why: checkpoint.Repository}, {Path: "empty", Why: checkpoint.Repository}}, a.Uncovered)
	for _, name := range []string{"x.log", "secret", "large", "nested/x", "empty/x"} {
		write(t, dir, name, "changed")
	}
	write(t, dir, "forced.log", "changed")
	b := take(t, s, "b")
	changes := changesOf(t, s, a, b)
	assert.Equal(t, []string{`modified "forced.log" +1 -1`, `added "large" +1 -0`}, summary(changes), "it has become small")
	_, err := s.Restore(t.Context(), revertAction, "r", a)
	require.NoError(t, err)
	assert.Equal(t, "changed", read(t, dir, "large"), "a file that the checkpoint does not contain is not deleted")
	_, err = s.Revert(t.Context(), revertAction, "r2", a, b, checkpoint.Selection{Path: "large"})
	require.ErrorIs(t, err, checkpoint.ErrConflict)
}

func TestDirectoryBelowTopIsCovered(t *testing.T) {
	top := repository(t)
	write(t, top, ".gitignore", "*.log\n/ignored/\n")
	for _, name := range []string{"sub dir/x", "sub dir/x.log", "ignored/x", "other"} {
		write(t, top, name, "1\n")
	}
	for _, name := range []string{"sub dir", "ignored"} {
		dir := filepath.Join(top, name)
		s := open(t, dir)
		a := take(t, s, "a")
		write(t, dir, "x", "2\n")
		write(t, dir, "y/z", "2\n")
		write(t, top, "other", "2\n")
		changes := changesOf(t, s, a, checkpoint.Checkpoint{})
		assert.Equal(t, []string{`modified "x" +1 -1`, `added "y/z" +1 -0`}, summary(changes))
		d := diffOf(t, s, a, checkpoint.Checkpoint{}, "x")
		require.Len(t, d.Hunks, 1)
		_, err := s.Revert(t.Context(), revertAction, "hunk", a, checkpoint.Checkpoint{}, checkpoint.Selection{Path: "x", Hunk: d.Hunks[0].ID})
		require.NoError(t, err)
		assert.Equal(t, "1\n", read(t, dir, "x"))
		assert.FileExists(t, filepath.Join(dir, "y/z"))
		r, err := s.Restore(t.Context(), revertAction, "paths", a, "y")
		require.NoError(t, err)
		assert.Equal(t, 1, r.Count)
		assert.NoDirExists(t, filepath.Join(dir, "y"))
		write(t, dir, "x", "2\n")
		write(t, dir, "y/z", "2\n")
		_, err = s.Restore(t.Context(), revertAction, "r", a)
		require.NoError(t, err)
		assert.Equal(t, "1\n", read(t, dir, "x"))
		assert.NoDirExists(t, filepath.Join(dir, "y"))
		assert.Equal(t, "2\n", read(t, top, "other"))
	}
	empty := filepath.Join(top, "empty")
	require.NoError(t, os.Mkdir(empty, 0o755))
	s := open(t, empty)
	a := take(t, s, "a")
	write(t, empty, "x", "1")
	require.NoError(t, os.RemoveAll(filepath.Join(top, ".git")))
	changes := changesOf(t, s, a, checkpoint.Checkpoint{})
	assert.Equal(t, []string{`added "x" +1 -0`}, summary(changes), "the directory is in no repository any more")
}

func TestLargeDirectoryHasNoCheckpoints(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		write(t, dir, name, "x")
	}
	for _, o := range []checkpoint.Options{{Files: 2}, {Bytes: 2}} {
		o.Root = t.TempDir()
		stores := checkpoint.New(o)
		defer stores.Close()
		s, err := stores.Of(dir)
		require.NoError(t, err)
		_, err = s.Take(t.Context(), session, "a")
		assert.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.ErrorContains(t, err, "there are no checkpoints of "+dir)
	}
}

func TestOwnDataIsNotCovered(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "the [data]")
	stores := checkpoint.New(checkpoint.Options{Root: filepath.Join(data, "checkpoints"), Private: data})
	defer stores.Close()
	s, err := stores.Of(dir)
	require.NoError(t, err)
	a := take(t, s, "a")
	write(t, data, "sessions.db", "x")
	write(t, dir, "x", "x\n")
	changes := changesOf(t, s, a, checkpoint.Checkpoint{})
	assert.Equal(t, []string{`added "x" +1 -0`}, summary(changes))
}

func TestNoRuleCoversOwnData(t *testing.T) {
	dir := repository(t)
	data := filepath.Join(dir, "data")
	stores := checkpoint.New(checkpoint.Options{Root: filepath.Join(data, "checkpoints"), Private: data})
	defer stores.Close()
	s, err := stores.Of(dir)
	require.NoError(t, err)
	write(t, dir, "data/portal.db", "old")
	write(t, dir, ".gitignore", "*\n!*/\n!*.db\n")
	gittest.Run(t, dir, "add", "--force", "data/portal.db")
	write(t, dir, "my.db", "1\n")
	a := take(t, s, "a")
	write(t, dir, "data/portal.db", "new")
	write(t, dir, "my.db", "2\n")
	assert.Equal(t, []string{`modified "my.db" +1 -1`}, summary(changesOf(t, s, a, checkpoint.Checkpoint{})))

	older, err := checkpoint.New(checkpoint.Options{Root: filepath.Join(data, "checkpoints"), Private: t.TempDir()}).Of(dir)
	require.NoError(t, err)
	b := take(t, older, "b") // with the data
	write(t, dir, "data/portal.db", "newer")
	write(t, dir, "my.db", "3\n")
	_, err = s.Restore(t.Context(), revertAction, "r", b)
	require.NoError(t, err)
	assert.Equal(t, "2\n", read(t, dir, "my.db"))
	assert.Equal(t, "newer", read(t, dir, "data/portal.db"))
}

func TestMissingGitAndDirectoryAreNamed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	stores := checkpoint.New(checkpoint.Options{Root: t.TempDir()})
	defer stores.Close()
	_, err := stores.Of(filepath.Join(dir, "gone"))
	require.ErrorIs(t, err, fault.ErrDirectoryNotFound)
	t.Setenv("PATH", dir)
	_, err = s.Take(t.Context(), session, "a")
	assert.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.ErrorContains(t, err, "git is not installed")
}

// age makes all objects old enough for the collection of garbage.
func age(t *testing.T, root string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, time.Time{}, time.Now().Add(-2*time.Hour))
	}))
}

func TestForgottenSessionLeavesNoObjects(t *testing.T) {
	dir := t.TempDir()
	root := t.TempDir()
	stores, s := openIn(t, root, dir)
	write(t, dir, "secret", "the first session's secret")
	_, err := s.Take(t.Context(), "../first", "a")
	require.NoError(t, err)
	write(t, dir, "secret", "another")
	_, err = s.Take(t.Context(), "second", "a")
	require.NoError(t, err)
	age(t, root)
	require.NoError(t, s.Forget(t.Context(), "../first"))
	assert.Empty(t, listOf(t, s, "../first"))
	_, err = s.Take(t.Context(), "second", "b")
	require.NoError(t, err)
	objects := func() (string, error) {
		out, err := exec.Command("sh", "-c", "for d in "+root+"/*/git; do git --git-dir=$d cat-file --batch-all-objects --batch='%(objecttype)'; done").CombinedOutput()
		return string(out), err
	}
	assert.Eventually(t, func() bool {
		all, err := objects()
		return err == nil && !strings.Contains(all, "the first session's secret") && strings.Contains(all, "another") // git fails while another collects garbage
	}, waitTime, tick)
	write(t, dir, "secret", "third")
	_, err = s.Take(t.Context(), "second", "c")
	require.NoError(t, err, "the index still works")
	stores.Close()
	require.NoError(t, stores.Keep(t.Context(), func(string) bool { return false }))
	entries, err := filepath.Glob(root + "/*/git")
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestCheckpointsKeepTheirOrderWhenTheClockIsSetBack(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	var before []checkpoint.Checkpoint
	var want, names []string
	for i := range 6 {
		synctest.Test(t, func(t *testing.T) { // each time the clock begins anew
			_, s := openIn(t, root, dir)
			time.Sleep(time.Duration(6-i) * time.Hour)
			for j := range 5 {
				want = append(want, fmt.Sprintf("%d-%d", i, j))
				take(t, s, want[len(want)-1])
			}
			before = listOf(t, s, session)
		})
	}
	for _, c := range before {
		names = append(names, c.Name)
	}
	assert.Equal(t, want, names)
}
