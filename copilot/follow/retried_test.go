package follow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/follow"
)

func TestRetriedReadsUntilItSucceedsOrMayNotRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, over := errors.New("busy"), errors.New("over")
		retry := func(err error) time.Duration {
			if errors.Is(err, busy) {
				return time.Second
			}
			return 0
		}
		results := []error{busy, busy, nil, busy, over}
		read := func() (int, error) {
			err := results[0]
			results = results[1:]
			return len(results), err
		}
		began := time.Now()
		got, err := follow.Retried(t.Context(), retry, read)
		require.NoError(t, err)
		assert.Equal(t, 2, got)
		assert.Equal(t, 2*time.Second, time.Since(began))
		_, err = follow.Retried(t.Context(), retry, read)
		require.ErrorIs(t, err, over)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Second/2)
		defer cancel()
		began = time.Now()
		_, err = follow.Retried(ctx, retry, func() (int, error) { return 0, busy })
		require.ErrorIs(t, err, busy)
		assert.Equal(t, time.Minute+time.Second/2, time.Since(began), "its context ends")
	})
}
