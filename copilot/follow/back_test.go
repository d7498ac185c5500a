package follow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
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
