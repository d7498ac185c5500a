package follow_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
)

func TestBeginOfARunIsFound(t *testing.T) {
	r := record(t, 0, 1200)
	add := func(run string, bodies ...event.Body) {
		for _, b := range bodies {
			_, err := r.Append(event.Event{Run: run, Body: b})
			require.NoError(t, err)
		}
	}
	add("a", event.RunStarted{}, event.TurnStarted{}, event.RunEnded{})
	add("b", event.RunStarted{})
	for range 600 { // more than is read at a time
		add("b", event.TurnStarted{})
	}
	for run, want := range map[string]uint64{"a": 0, "b": 3} {
		after, found, err := follow.RunBegin(t.Context(), r, run)
		require.NoError(t, err)
		assert.True(t, found, run)
		assert.Equal(t, want, after, run)
	}
	_, found, err := follow.RunBegin(t.Context(), r, "c")
	require.NoError(t, err)
	assert.False(t, found)
}

func TestBeginOfAnEvictedRunIsItsOldestEvent(t *testing.T) {
	r := record(t, 5, 3)
	_, err := r.Append(event.Event{Run: "a", Body: event.TurnStarted{}})
	require.NoError(t, err)
	after, found, err := follow.RunBegin(t.Context(), r, "a")
	require.NoError(t, err)
	assert.True(t, found)
	assert.EqualValues(t, 5, after)
}

// A record reads old entries from its store and new ones from memory, and a part of what is asked for at a time.
func TestBackwardReadsWindowsCompletely(t *testing.T) {
	var stored []journal.Entry[event.Event]
	r := journal.New(journal.Options[event.Event]{
		Budget: 3, Cost: func(event.Event) int { return 1 }, Epoch: 1,
		Load: func(_ context.Context, after uint64, limit int) ([]journal.Entry[event.Event], error) {
			from := min(int(after), len(stored))
			return stored[from:min(from+2, from+limit, len(stored))], nil // less than asked for
		},
	})
	for n := uint64(1); n <= 11; n++ {
		_, err := r.Append(event.Event{Body: event.Idle{}})
		require.NoError(t, err)
		stored = append(stored, journal.Entry[event.Event]{N: n, Value: event.Event{Body: event.Idle{}}})
	}
	for _, from := range []uint64{11, 9, 4, 20} {
		var all []follow.Entry
		for b, err := range follow.Backward(t.Context(), r, from) {
			require.NoError(t, err)
			require.Nil(t, b.Gap)
			all = slices.Concat(b.Entries, all)
		}
		want := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
		assert.Equal(t, want[:min(from, 11)], numbers(all))
	}
}
