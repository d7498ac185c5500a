package checkpoint_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
)

// spans returns all spans between some checkpoints: each of them changes a file.
func spans(t *testing.T, dir string, s *checkpoint.Store, checkpoints int) (list []checkpoint.Span) {
	t.Helper()
	var taken []checkpoint.Checkpoint
	for n := range checkpoints {
		write(t, dir, "n.txt", fmt.Sprintln(n))
		to := take(t, s, fmt.Sprint(n))
		for _, from := range taken {
			list = append(list, checkpoint.Span{From: from, To: to})
		}
		taken = append(taken, to)
	}
	return list
}

func TestChangesOfManyRunsAreComparedOnce(t *testing.T) {
	dir := repository(t)
	s := open(t, dir)
	list := spans(t, dir, s, 18)
	require.Greater(t, len(list), 150)
	require.NoError(t, s.View(t.Context(), func(v *checkpoint.View) error {
		for _, span := range list {
			_, err := v.Changes(t.Context(), span)
			require.NoError(t, err)
		}
		t.Setenv("PATH", "") // no git
		for _, span := range list {
			changes, err := v.Changes(t.Context(), span)
			require.NoError(t, err)
			assert.Equal(t, []string{`modified "n.txt" +1 -1`}, summary(changes))
		}
		return nil
	}))
}

func TestNewestComparisonsAreKept(t *testing.T) {
	const most = checkpoint.MaxCompared
	assert.Equal(t, []int{0, 1}, checkpoint.KeptOf(most-1, 0))
	assert.Equal(t, []int{1, 2}, checkpoint.KeptOf(1, most-1, 0))
	assert.Equal(t, []int{1}, checkpoint.KeptOf(1, most+1), "the newest one alone may have more")
	assert.Equal(t, []int{2}, checkpoint.KeptOf(1, most+1, 1))
}
