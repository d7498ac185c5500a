package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
)

func TestPathsThatAreNotUTF8AreStored(t *testing.T) {
	dir := repository(t)
	write(t, dir, "l\xe4rge", strings.Repeat("x", 20_000))
	write(t, dir, "pr\xefvate", "p")
	require.NoError(t, os.Chmod(filepath.Join(dir, "pr\xefvate"), 0o600))
	s := open(t, dir)
	take(t, s, "a")
	a := listOf(t, s, session)[0]
	assert.Equal(t, []checkpoint.Uncovered{{Path: "l\xe4rge", Why: checkpoint.Large}}, a.Uncovered)
	write(t, dir, "l\xe4rge", "mine")
	remove(t, dir, "pr\xefvate")
	_, err := s.Restore(t.Context(), revertAction, "r", a)
	require.NoError(t, err)
	assert.Equal(t, "mine", read(t, dir, "l\xe4rge"))
	info, err := os.Stat(filepath.Join(dir, "pr\xefvate"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	assert.Equal(t, "pr\xefvate", checkpoint.Undoable(listOf(t, s, session)).Files[0].Path)
}

func TestMoreUncoveredFilesThanNamedAreKept(t *testing.T) {
	dir := t.TempDir()
	const files = 1005
	for i := range files {
		write(t, dir, fmt.Sprintf("large/%04d", i), "0123456789")
	}
	write(t, dir, "edited", "1")
	stores := checkpoint.New(checkpoint.Options{Root: t.TempDir(), File: 5})
	defer stores.Close()
	s, err := stores.Of(dir)
	require.NoError(t, err)
	take(t, s, "a")
	for i := range files {
		write(t, dir, fmt.Sprintf("large/%04d", i), "mine")
	}
	write(t, dir, "edited", "2")
	take(t, s, "b")
	list := listOf(t, s, session)
	_, err = s.Revert(t.Context(), revertAction, "one", list[0], list[1], checkpoint.Selection{Path: "large/1004"})
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	joined := checkpoint.Span{}
	require.NoError(t, s.View(t.Context(), func(v *checkpoint.View) (err error) {
		joined, _, err = v.Join(t.Context(), []checkpoint.Span{{From: list[0], To: list[1]}})
		return err
	}))
	_, err = s.Revert(t.Context(), revertAction, "all", joined.From, joined.To, checkpoint.Selection{})
	require.NoError(t, err)
	assert.Equal(t, "1", read(t, dir, "edited"))
	_, err = s.Undo(t.Context(), revertAction, "undo", "")
	require.NoError(t, err)
	_, err = s.Restore(t.Context(), revertAction, "restore", list[0])
	require.NoError(t, err)
	assert.Equal(t, "1", read(t, dir, "edited"))
	left, err := os.ReadDir(filepath.Join(dir, "large"))
	require.NoError(t, err)
	assert.Len(t, left, files)
}
