package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
)

func TestJoinedSpanLeavesOutWhatOthersChanged(t *testing.T) {
	dir := repository(t)
	write(t, dir, "person.txt", "1\n")
	s := open(t, dir)
	first := checkpoint.Span{From: take(t, s, "1")}
	write(t, dir, "a.txt", strings.Replace(read(t, dir, "a.txt"), "two", "TWO", 1))
	write(t, dir, "both.txt", "agent\n")
	first.To = take(t, s, "2")
	write(t, dir, "person.txt", "2\n")
	write(t, dir, "both.txt", "agent\nperson\n")
	second := checkpoint.Span{From: take(t, s, "3")}
	require.NoError(t, os.Rename(filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")))
	write(t, dir, "both.txt", "agent\nperson\nagent\n")
	second.To = take(t, s, "4")
	write(t, dir, "person.txt", "3\n")
	write(t, dir, "b.txt", "zero\n"+read(t, dir, "b.txt"))

	var joined checkpoint.Span
	require.NoError(t, s.View(t.Context(), func(v *checkpoint.View) (err error) {
		var also map[string]bool
		joined, also, err = v.Join(t.Context(), []checkpoint.Span{first, second})
		require.NoError(t, err)
		assert.Equal(t, map[string]bool{"both.txt": true}, also)
		changes, err := v.Changes(t.Context(), joined)
		require.NoError(t, err)
		assert.Equal(t, []string{`renamed "b.txt" +1 -1 from "a.txt"`, `added "both.txt" +3 -0`}, summary(changes))
		states, err := v.States(t.Context(), joined, changes)
		require.NoError(t, err)
		assert.Equal(t, []checkpoint.State{checkpoint.Edited, checkpoint.Present}, states)
		return nil
	}))
	_, err := s.Revert(t.Context(), revertAction, "r", joined.From, joined.To, checkpoint.Selection{})
	require.NoError(t, err)
	assert.Equal(t, "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n", read(t, dir, "a.txt"))
	assert.Equal(t, "3\n", read(t, dir, "person.txt"))
	assert.NoFileExists(t, filepath.Join(dir, "both.txt"))
	require.NoError(t, s.View(t.Context(), func(v *checkpoint.View) error {
		changes, err := v.Changes(t.Context(), second)
		require.NoError(t, err)
		states, err := v.States(t.Context(), second, changes)
		assert.Equal(t, []checkpoint.State{checkpoint.Edited, checkpoint.Edited}, states)
		return err
	}))
}

func TestAdjoiningSpansAreJoinedToTheWhole(t *testing.T) {
	dir := repository(t)
	s := open(t, dir)
	start := take(t, s, "1")
	write(t, dir, "new.txt", "1\n")
	middle := take(t, s, "2")
	write(t, dir, "new.txt", "1\n2\n")
	require.NoError(t, os.Remove(filepath.Join(dir, "a.txt")))
	for name, end := range map[string]checkpoint.Checkpoint{"at a checkpoint": take(t, s, "3"), "at present": {}} {
		require.NoError(t, s.View(t.Context(), func(v *checkpoint.View) error {
			joined, also, err := v.Join(t.Context(), []checkpoint.Span{{From: start, To: middle}, {From: middle, To: end}})
			require.NoError(t, err)
			assert.Equal(t, map[string]bool{}, also, name)
			changes, err := v.Changes(t.Context(), joined)
			assert.Equal(t, []string{`deleted "a.txt" +0 -10`, `added "new.txt" +2 -0`}, summary(changes), name)
			return err
		}))
	}
}

func TestCopiedCheckpointsBelongToAnotherSession(t *testing.T) {
	dir := repository(t)
	s := open(t, dir)
	a := take(t, s, "a")
	write(t, dir, "x", "x")
	_, err := s.Restore(t.Context(), revertAction, "r", a)
	require.NoError(t, err)
	require.NoError(t, s.Copy(t.Context(), session, "fork", func(checkpoint.Checkpoint) bool { return true }))
	require.NoError(t, s.Forget(t.Context(), session))
	list := listOf(t, s, "fork")
	require.Len(t, list, 1)
	assert.Equal(t, "a", list[0].Name)
	assert.Nil(t, checkpoint.Undoable(list))
}

func TestHunksSayWhatBecameOfThem(t *testing.T) {
	dir := repository(t)
	s := open(t, dir)
	span := checkpoint.Span{From: take(t, s, "1")}
	original := read(t, dir, "a.txt")
	changed := strings.NewReplacer("two", "TWO", "ten", "TEN").Replace(original)
	write(t, dir, "a.txt", changed)
	span.To = take(t, s, "2")
	states := func() (list []checkpoint.State) {
		require.NoError(t, s.View(t.Context(), func(v *checkpoint.View) error {
			d, err := v.Diff(t.Context(), span, "a.txt")
			for _, h := range d.Hunks {
				list = append(list, h.State)
			}
			return err
		}))
		return list
	}
	for _, test := range []struct {
		now  string
		want []checkpoint.State
	}{
		{changed, []checkpoint.State{checkpoint.Present, checkpoint.Present}},
		{original, []checkpoint.State{checkpoint.Reverted, checkpoint.Reverted}},
		{strings.Replace(changed, "TWO", "two", 1), []checkpoint.State{checkpoint.Reverted, checkpoint.Present}},
		{"zero\n" + strings.Replace(changed, "TEN", "ten", 1), []checkpoint.State{checkpoint.Present, checkpoint.Reverted}},
		{strings.Replace(changed, "TWO", "mine", 1), []checkpoint.State{checkpoint.Edited, checkpoint.Present}},
	} {
		write(t, dir, "a.txt", test.now)
		assert.Equal(t, test.want, states(), test.now)
	}
	remove(t, dir, "a.txt")
	require.NoError(t, os.Symlink("x", filepath.Join(dir, "a.txt")))
	assert.Equal(t, []checkpoint.State{checkpoint.Edited, checkpoint.Edited}, states())
}
