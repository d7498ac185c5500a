package follow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
)

// record returns a record that had a number of entries and keeps at most some of them.
func record(t *testing.T, entries, kept int) *event.Record {
	t.Helper()
	r := journal.New(journal.Options[event.Event]{Budget: kept, Cost: func(event.Event) int { return 1 }, Epoch: 1})
	for range entries {
		_, err := r.Append(event.Event{Body: event.Idle{}})
		require.NoError(t, err)
	}
	return r
}

func numbers(entries []follow.Entry) (list []uint64) {
	for _, e := range entries {
		list = append(list, e.N)
	}
	return list
}

func TestReaderContinuesAfterGap(t *testing.T) {
	r := record(t, 5, 3)
	r.Close()
	reader, read, gaps := follow.Record(r, 1), []uint64(nil), 0
	for b, err := range reader.All(t.Context()) {
		require.NoError(t, err, "the end is not an error")
		if b.Gap != nil {
			gaps++
			assert.Equal(t, journal.GapError{After: 1, First: 3}, *b.Gap)
		}
		read = append(read, numbers(b.Entries)...)
	}
	assert.Equal(t, []uint64{3, 4, 5}, read)
	assert.Equal(t, 1, gaps)
	assert.EqualValues(t, 5, reader.After())
}

func TestReaderEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader := follow.Record(record(t, 2, 9), 0)
	reader.Limit = 1
	var last error
	for _, err := range reader.All(ctx) {
		cancel()
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
	assert.EqualValues(t, 1, reader.After(), "entries that are not yielded are not read")
}

func TestReaderYieldsEmptyBatchWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := follow.Record(record(t, 1, 9), 1)
		reader.Idle = func() time.Duration { return time.Minute }
		began := time.Now()
		b, err := reader.Next(t.Context())
		require.NoError(t, err)
		assert.Empty(t, b.Entries)
		assert.Equal(t, time.Minute, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = reader.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded, "the end of the caller's context is not an empty batch")
	})
}

func TestReaderReadsUntilNumber(t *testing.T) {
	reader, read := follow.Record(record(t, 6, 4), 0), []uint64(nil)
	for b, err := range reader.Until(t.Context(), 5) {
		require.NoError(t, err)
		read = append(read, numbers(b.Entries)...)
	}
	assert.Equal(t, []uint64{3, 4, 5}, read)
	assert.EqualValues(t, 5, reader.After())
	for range reader.Until(t.Context(), 5) {
		assert.Fail(t, "there are no entries")
	}
}

func TestPositionOfAnotherRecordIsGap(t *testing.T) {
	r := record(t, 3, 9)
	after, gap := follow.From(r, r.Position(2))
	assert.EqualValues(t, 2, after)
	assert.Nil(t, gap)
	after, gap = follow.From(r, journal.Position{Epoch: 9, N: 2})
	assert.EqualValues(t, 0, after)
	require.NotNil(t, gap)
	assert.True(t, gap.Stale)
}

// failing is a log that fails some times before it continues.
type failing struct {
	follow.Log[follow.Entry]

	errs []error
}

func (l *failing) Next(ctx context.Context, after uint64, limit int) ([]follow.Entry, error) {
	if len(l.errs) > 0 {
		err := l.errs[0]
		l.errs = l.errs[1:]
		return nil, err
	}
	return l.Log.Next(ctx, after, limit)
}

func TestReaderReadsOnAfterFailedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, over := errors.New("busy"), errors.New("over")
		r := record(t, 2, 9)
		r.Close()
		log := &failing{r, []error{busy, busy}}
		reader := follow.New[follow.Entry](log, func(e follow.Entry) uint64 { return e.N }, 0)
		reader.Retry = func(err error) time.Duration {
			if errors.Is(err, busy) {
				return time.Second
			}
			return 0
		}
		began, read := time.Now(), []uint64(nil)
		for b, err := range reader.All(t.Context()) {
			require.NoError(t, err)
			read = append(read, numbers(b.Entries)...)
		}
		assert.Equal(t, []uint64{1, 2}, read)
		assert.Equal(t, 2*time.Second, time.Since(began))

		log.errs = []error{busy, over, busy}
		var last error
		for _, err := range reader.All(t.Context()) {
			last = err
		}
		require.ErrorIs(t, last, over)
	})
}
