package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

const (
	waitTime = 2 * time.Minute
	tick     = 20 * time.Millisecond
)

func TestRevertKeepsLaterChangesOfOtherLines(t *testing.T) {
	dir := repository(t)
	s := open(t, dir)
	a := take(t, s, "a")
	write(t, dir, "a.txt", strings.NewReplacer("two", "TWO", "ten", "TEN").Replace(read(t, dir, "a.txt")))
	write(t, dir, "new", "n")
	b := take(t, s, "b")
	write(t, dir, "a.txt", "zero\n"+strings.Replace(read(t, dir, "a.txt"), "five", "FIVE", 1))
	before := stateOf(t, dir)

	d := diffOf(t, s, a, b, "a.txt")
	require.Len(t, d.Hunks, 2)
	r, err := s.Revert(t.Context(), revertAction, "1", a, b, checkpoint.Selection{Path: "a.txt", Hunk: d.Hunks[1].ID})
	require.NoError(t, err)
	assert.Equal(t, []checkpoint.File{{Path: "a.txt"}}, r.Files)
	assert.Equal(t, "zero\none\nTWO\nthree\nfour\nFIVE\nsix\nseven\neight\nnine\nten\n", read(t, dir, "a.txt"))

	_, err = s.Revert(t.Context(), revertAction, "2", a, b, checkpoint.Selection{})
	require.NoError(t, err)
	assert.Equal(t, "zero\none\ntwo\nthree\nfour\nFIVE\nsix\nseven\neight\nnine\nten\n", read(t, dir, "a.txt"))
	assert.NoFileExists(t, filepath.Join(dir, "new"))
	r, err = s.Revert(t.Context(), revertAction, "3", a, b, checkpoint.Selection{})
	require.NoError(t, err)
	assert.Empty(t, r.ID, "nothing is left to take back")

	u, err := s.Undo(t.Context(), revertAction, "u2", "")
	require.NoError(t, err)
	assert.Equal(t, "2", u.Undoes)
	_, err = s.Undo(t.Context(), revertAction, "u1", "")
	require.NoError(t, err)
	assertState(t, before, stateOf(t, dir))
	_, err = s.Undo(t.Context(), revertAction, "u0", "")
	assert.Equal(t, fault.NotFound, fault.KindOf(err))
	_, err = s.Undo(t.Context(), revertAction, "redo", "u1")
	require.NoError(t, err)
	assert.Contains(t, read(t, dir, "a.txt"), "ten")
	assert.Equal(t, "1", checkpoint.Undoable(listOf(t, s, session)).ID, "the undo of the first one was undone")
}

func TestRevertInConflictChangesNothing(t *testing.T) {
	dir := repository(t)
	write(t, dir, "binary", "\x00a")
	write(t, dir, "gone", "g")
	s := open(t, dir)
	a := take(t, s, "a")
	write(t, dir, "a.txt", strings.Replace(read(t, dir, "a.txt"), "two", "TWO", 1))
	write(t, dir, "binary", "\x00b")
	write(t, dir, "fine", "f")
	remove(t, dir, "gone")
	b := take(t, s, "b")
	write(t, dir, "a.txt", strings.Replace(read(t, dir, "a.txt"), "TWO", "two and a half", 1))
	write(t, dir, "binary", "\x00c")
	write(t, dir, "gone", "another")
	before := stateOf(t, dir)
	_, err := s.Revert(t.Context(), revertAction, "1", a, b, checkpoint.Selection{})
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	require.ErrorContains(t, err, `"a.txt", "binary", "gone"`)
	assertState(t, before, stateOf(t, dir))
	_, err = s.Revert(t.Context(), revertAction, "2", a, b, checkpoint.Selection{Path: "fine"})
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(dir, "fine"))
	_, err = s.Revert(t.Context(), revertAction, "2", a, b, checkpoint.Selection{Path: "a.txt", Hunk: "0"})
	assert.Equal(t, fault.NotFound, fault.KindOf(err))
	_, err = s.Revert(t.Context(), revertAction, "2", a, b, checkpoint.Selection{Path: "unknown"})
	assert.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestRenameIsTakenBackWithLaterChanges(t *testing.T) {
	dir := repository(t)
	s := open(t, dir)
	a := take(t, s, "a")
	require.NoError(t, os.Rename(filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")))
	b := take(t, s, "b")
	write(t, dir, "b.txt", strings.Replace(read(t, dir, "b.txt"), "five", "FIVE", 1))
	_, err := s.Revert(t.Context(), revertAction, "1", a, b, checkpoint.Selection{Path: "b.txt"})
	require.NoError(t, err)
	assert.Contains(t, read(t, dir, "a.txt"), "FIVE")
	assert.NoFileExists(t, filepath.Join(dir, "b.txt"))
}

func TestRevertTakesARenamedFileAwayWhoseOldNameIsNotCovered(t *testing.T) {
	dir := repository(t)
	s := open(t, dir)
	a := take(t, s, "a")
	require.NoError(t, os.Rename(filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")))
	large := strings.Repeat("x", 12_000) // above the limit
	write(t, dir, "a.txt", large)
	_, err := s.Revert(t.Context(), revertAction, "r", a, take(t, s, "b"), checkpoint.Selection{})
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(dir, "b.txt"))
	assert.Equal(t, large, read(t, dir, "a.txt"), "what no checkpoint contains stays")
}

func TestRevertBringsARenamedFileBackWhoseNewNameWasNotCovered(t *testing.T) {
	dir := repository(t)
	write(t, dir, "b.txt", strings.Repeat("x", 12_000)) // above the limit
	s := open(t, dir)
	a, original := take(t, s, "a"), read(t, dir, "a.txt")
	require.NoError(t, os.Rename(filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")))
	_, err := s.Revert(t.Context(), revertAction, "r", a, take(t, s, "b"), checkpoint.Selection{})
	require.NoError(t, err)
	assert.Equal(t, original, read(t, dir, "a.txt"))
	assert.Equal(t, original, read(t, dir, "b.txt"), "what it was is not known, so it stays")
	_, err = s.Undo(t.Context(), revertAction, "undo", "")
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(dir, "a.txt"))
}

func TestCommonPermissionsAreStoredOnce(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	perms := map[string]os.FileMode{"tool": 0o750, "private": 0o600, "public": 0o644}
	for i := range 1000 {
		perms[fmt.Sprintf("directory-%d/file-%d", i%10, i)] = 0o640
	}
	for name, perm := range perms {
		write(t, dir, name, name)
		require.NoError(t, os.Chmod(filepath.Join(dir, name), perm))
	}
	_, s := openIn(t, root, dir)
	a := take(t, s, "a")
	write(t, dir, "later", "l")
	require.NoError(t, os.Chmod(filepath.Join(dir, "later"), 0o604))
	b := take(t, s, "b")
	git, err := filepath.Glob(filepath.Join(root, "*", "git"))
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		message := gittest.Run(t, dir, "--git-dir="+git[0], "log", "-1", "--format=%B", "refs/portal/"+session+"/"+name)
		assert.Less(t, len(message), 10_000)
	}
	remove(t, dir, "directory-1")
	for _, name := range []string{"tool", "private", "public", "later"} {
		remove(t, dir, name)
	}
	_, err = s.Restore(t.Context(), revertAction, "r", b)
	require.NoError(t, err)
	perms["later"] = 0o604
	for name, perm := range perms {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, perm, info.Mode().Perm(), name)
	}
	_, err = s.Restore(t.Context(), revertAction, "r2", a)
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(dir, "later"))
}

func TestRestoreKeepsPermissionsAndKinds(t *testing.T) {
	dir := repository(t)
	write(t, dir, "private", "p")
	require.NoError(t, os.Chmod(filepath.Join(dir, "private"), 0o600))
	write(t, dir, "tool", "#!")
	require.NoError(t, os.Chmod(filepath.Join(dir, "tool"), 0o700))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(dir, "link")))
	write(t, dir, "dir/x", "x")
	write(t, dir, "file", "f")
	before := stateOf(t, dir)
	s := open(t, dir)
	a := take(t, s, "a")
	remove(t, dir, "private")
	write(t, dir, "tool", "changed")
	require.NoError(t, os.Chmod(filepath.Join(dir, "tool"), 0o600))
	remove(t, dir, "link")
	write(t, dir, "link", "a file")
	remove(t, dir, "dir")
	write(t, dir, "dir", "a file")
	remove(t, dir, "file")
	write(t, dir, "file/x/y", "below")
	after := stateOf(t, dir)
	_, err := s.Restore(t.Context(), revertAction, "r", a)
	require.NoError(t, err)
	assertState(t, before, stateOf(t, dir))
	perm := func(name string) os.FileMode {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	assert.Equal(t, os.FileMode(0o600), perm("private"))
	assert.Equal(t, os.FileMode(0o700), perm("tool"))
	require.NoError(t, os.Chmod(filepath.Join(dir, "private"), 0o640))
	_, err = s.Undo(t.Context(), revertAction, "u", "")
	require.NoError(t, err)
	assertState(t, after, stateOf(t, dir))
	_, err = s.Undo(t.Context(), revertAction, "redo", "u")
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), perm("private"))
	_, err = s.Undo(t.Context(), revertAction, "undo", "")
	require.NoError(t, err)
	_, err = s.Restore(t.Context(), revertAction, "r2", a, "private", "dir/x", "dir")
	require.NoError(t, err)
	assert.Equal(t, before["private"], stateOf(t, dir)["private"])
	assert.Equal(t, before["dir/x"], stateOf(t, dir)["dir/x"])
	assert.Equal(t, after["link"], stateOf(t, dir)["link"])
}

func TestRestoreNeverLeavesDirectory(t *testing.T) {
	dir, outside := repository(t), t.TempDir()
	write(t, dir, "d/x", "mine")
	write(t, outside, "x", "foreign")
	s := open(t, dir)
	a := take(t, s, "a")
	remove(t, dir, "d")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "d")))
	changes := changesOf(t, s, a, checkpoint.Checkpoint{})
	assert.Equal(t, []string{`added "d" +1 -0`, `deleted "d/x" +0 -1`}, summary(changes))
	_, err := s.Restore(t.Context(), revertAction, "1", a, "d/x")
	require.ErrorIs(t, err, checkpoint.ErrConflict, "the link is in the way")
	_, err = s.Restore(t.Context(), revertAction, "2", a)
	require.NoError(t, err)
	assert.Equal(t, "mine", read(t, dir, "d/x"))
	assert.Equal(t, "foreign", read(t, outside, "x"))
	_, err = s.Undo(t.Context(), revertAction, "3", "")
	require.NoError(t, err)
	target, err := os.Readlink(filepath.Join(dir, "d"))
	require.NoError(t, err)
	assert.Equal(t, outside, target)
	assert.Equal(t, "foreign", read(t, outside, "x"))
}

func TestIgnoredFileInTheWayIsNotOverwritten(t *testing.T) {
	dir := repository(t)
	write(t, dir, "x", "file")
	s := open(t, dir)
	a := take(t, s, "a")
	remove(t, dir, "x")
	write(t, dir, ".gitignore", "*.log\n")
	write(t, dir, "x/mine.log", "mine")
	_, err := s.Restore(t.Context(), revertAction, "r", a, "x")
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	assert.Equal(t, "mine", read(t, dir, "x/mine.log"))
}

func TestHunksCanBeRevertedAtTheEnds(t *testing.T) {
	for name, texts := range map[string][2]string{
		"added at the start":  {"b\nc\n", "a\nb\nc\n"},
		"added at the end":    {"a\nb", "a\nb\nc"},
		"removed at the end":  {"a\nb\nc\n", "a\nb"},
		"emptied":             {"a\r\nb\r\n", ""},
		"filled":              {"", "a\n"},
		"line end added":      {"a", "a\n"},
		"invalid UTF-8 added": {"a\n", "a\n\xff\xfe\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "x", texts[0])
			s := open(t, dir)
			a := take(t, s, "a")
			write(t, dir, "x", texts[1])
			b := take(t, s, "b")
			d := diffOf(t, s, a, b, "x")
			require.Len(t, d.Hunks, 1)
			_, err := s.Revert(t.Context(), revertAction, "r", a, b, checkpoint.Selection{Path: "x", Hunk: d.Hunks[0].ID})
			require.NoError(t, err)
			assert.Equal(t, texts[0], read(t, dir, "x"))
		})
	}
}
