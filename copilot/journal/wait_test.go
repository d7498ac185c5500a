package journal_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

// reader is one call of Next in a goroutine of its own, inside a synctest bubble.
type reader chan string

func read(ctx context.Context, j *journal.Journal[event], after uint64) reader {
	r := make(reader, 1)
	go func() { r <- outcome(j.Next(ctx, after, 0)) }()
	return r
}

// now lets all goroutines run until they block, and returns the result of the call, or "waits".
func (r reader) now() string {
	synctest.Wait()
	select {
	case s := <-r:
		return s
	default:
		return "waits"
	}
}

// appends returns a function that appends n entries and lets the readers run after each.
func appends(n int) func(*journal.Journal[event]) {
	return func(j *journal.Journal[event]) {
		for range n {
			_, _ = j.Append(event{cost: 1})
			synctest.Wait()
		}
	}
}

func TestWaiting(t *testing.T) {
	tests := []struct {
		name   string
		record string
		after  uint64
		act    func(*journal.Journal[event])
		want   string
	}{
		{"a reader waits while nothing happens", "", 0, appends(0), "waits"},
		{"an entry ends the waiting", "", 0, appends(1), "1"},
		{"an entry after others ends the waiting", ". .", 2, appends(1), "3"},
		{"entries up to the requested number do not end it", "", 2, appends(2), "waits"},
		{"the first entry above the number does", "", 2, appends(3), "3"},
		{"a trim does not end it", "a A", 2, func(j *journal.Journal[event]) { j.Trim(2) }, "waits"},
		{"a close ends it", ".", 1, (*journal.Journal[event]).Close, "EOF"},
		{"a close before the number is reached ends it", ".", 7, (*journal.Journal[event]).Close, "EOF"},
		{"a reopening of an open record does not end it", ".", 1, (*journal.Journal[event]).Reopen, "waits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(0)
				record(t, j, tt.record)
				r := read(t.Context(), j, tt.after)
				require.Equal(t, "waits", r.now())
				tt.act(j)
				assert.Equal(t, tt.want, r.now())
				j.Close()
			})
		})
	}
}

func TestOneAppendWakesAllWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(0)
		readers := make([]reader, 1000)
		for i := range readers {
			readers[i] = read(t.Context(), j, 0)
		}
		synctest.Wait()
		record(t, j, ".")
		for _, r := range readers {
			require.Equal(t, "1", r.now())
		}
	})
}

func TestReaderWaitsAgainAfterReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(0)
		r := read(t.Context(), j, 0)
		synctest.Wait()
		j.Close()
		require.Equal(t, "EOF", r.now())

		j.Reopen()
		r = read(t.Context(), j, 0)
		require.Equal(t, "waits", r.now())
		record(t, j, ".")
		require.Equal(t, "1", r.now())
	})
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		other := read(t.Context(), j, 0)

		start := time.Now()
		_, err := j.Next(ctx, 0, 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(start))

		assert.Equal(t, "waits", other.now(), "other readers keep waiting")
		record(t, j, ".")
		assert.Equal(t, "1", other.now())
	})
}

func TestReadyEntriesWinOverCancelledContext(t *testing.T) {
	tests := []struct {
		name, record string
		closed       bool
		want         string
	}{
		{"entries", ". .", true, "1 2"},
		{"a gap", ". . .", false, "gap after 0 until 2"},
		{"the end", "", true, "EOF"},
		{"nothing", "", false, "nothing yet"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := newJournal(2)
			record(t, j, tt.record)
			if tt.closed {
				j.Close()
			}
			assert.Equal(t, tt.want, outcome(j.Next(ended(), 0, 0)))
		})
	}
}

func TestLongPollLosesNothingToItsOwnTimeLimit(t *testing.T) {
	for range 100 { // the two wake the reader in either order
		synctest.Test(t, func(t *testing.T) {
			j := newJournal(0)
			ctx, cancel := context.WithCancel(t.Context())
			r := read(ctx, j, 0)
			synctest.Wait()
			record(t, j, ".")
			cancel()
			require.Equal(t, "1", r.now())
		})
	}
}
