package copilot_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
)

// reading is what a reader has received so far, and how it ended.
type reading struct {
	lines []string
	gaps  []journal.GapError
	err   error
	done  chan struct{}
}

// readOn reads to the end, on its own goroutine.
func readOn(ctx context.Context, r *follow.SessionReader) *reading {
	got := &reading{done: make(chan struct{})}
	go func() {
		defer close(got.done)
		for r.Limit = 3; ; {
			b, err := r.Next(ctx)
			switch {
			case err != nil:
				got.err = err
				return
			case b.Gap != nil:
				got.gaps = append(got.gaps, *b.Gap)
			}
			for _, e := range b.Entries {
				if line := tell(e.Value.Body); line != "" {
					got.lines = append(got.lines, line)
				}
			}
		}
	}()
	return got
}

func TestReaderFollowsOneProcess(t *testing.T) {
	inWorld(t, "it reads all events to the end of the session", copilot.Options{}, func(w *world) {
		s := w.start()
		w.run(s, "a")
		r := follow.Session(w.host, s, 1)
		got := readOn(w.t.Context(), r)
		w.run(s, "b")
		wait(time.Hour)
		w.run(s, "c")
		require.NoError(w.t, s.Close())
		<-got.done
		require.ErrorIs(w.t, got.err, io.EOF)
		assert.Equal(w.t, []string{
			"starts", "user: a", "says: a", "completed", "starts", "user: b", "says: b", "completed",
			"starts", "user: c", "says: c", "completed", "closed",
		}, got.lines)
		assert.Equal(w.t, s.Record().Last(), r.After())
		assert.Same(w.t, s, r.Session())
		_, err := r.Next(w.t.Context())
		require.ErrorIs(w.t, err, io.EOF, "reading again")
		require.NoError(w.t, s.Reopen(w.t.Context()))
		b, err := r.Next(w.t.Context())
		require.NoError(w.t, err)
		assert.IsType(w.t, event.SessionOpened{}, b.Entries[0].Value.Body)
	})
	inWorld(t, "it waits until its context ends", copilot.Options{}, func(w *world) {
		s := w.start()
		r := follow.Session(w.host, s, s.Record().Last())
		began := time.Now()
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		_, err := r.Next(ctx)
		require.ErrorIs(w.t, err, context.DeadlineExceeded)
		assert.Equal(w.t, time.Minute, time.Since(began))
		ctx, cancel = context.WithTimeout(w.t.Context(), 15*time.Second)
		defer cancel()
		_, err = r.Next(ctx)
		require.ErrorIs(w.t, err, context.DeadlineExceeded)
		ctx, cancel = context.WithCancel(w.t.Context())
		cancel()
		_, err = r.Next(ctx)
		require.ErrorIs(w.t, err, context.Canceled)
		w.run(s, "a")
		r.Limit = 2
		b, err := r.Next(ctx)
		require.NoError(w.t, err, "available entries are returned")
		assert.Len(w.t, b.Entries, 2)
	})
	inWorld(t, "it gets a gap and continues after it", copilot.Options{RecordBudget: 1}, func(w *world) {
		s := w.start()
		w.run(s, "a")
		w.run(s, "b")
		r := follow.Session(w.host, s, 0)
		missing, err := r.Next(w.t.Context())
		require.NoError(w.t, err)
		require.NotNil(w.t, missing.Gap)
		assert.Equal(w.t, missing.Gap.First-1, r.After())
		b, err := r.Next(w.t.Context())
		require.NoError(w.t, err)
		assert.Equal(w.t, missing.Gap.First, b.Entries[0].N)
	})
	inWorld(t, "a closed session ends the reader, even after eviction", copilot.Options{MaxClosed: 1}, func(w *world) {
		s := w.start()
		r := follow.Session(w.host, s, 0)
		require.NoError(w.t, s.Close())
		time.Sleep(time.Second)
		for range 2 {
			require.NoError(w.t, w.start().Close())
		}
		got := readOn(w.t.Context(), r)
		<-got.done
		require.ErrorIs(w.t, got.err, io.EOF, "like for a faster reader")
		assert.Equal(w.t, []string{"opened with model-a", "closed"}, got.lines)
		_, err := w.host.Session(w.t.Context(), s.ID())
		require.ErrorIs(w.t, err, fault.ErrSessionNotFound)
	})
}

func TestReaderFollowsManyRestarts(t *testing.T) {
	atHome(t, "it continues when the session is evicted and loaded again", func(h *home) {
		t := h.t
		p := h.portalWith(copilot.Options{MaxClosed: 1, Limits: copilot.Limits{Idle: time.Minute}})
		defer p.stop()
		s := p.start()
		prompt(t, s, "first")
		settle()
		ctx, cancel := context.WithCancel(t.Context())
		r := follow.Session(p.host, s, 0)
		got := readOn(ctx, r)
		p.dropFromMemory(s)
		prompt(t, p.session(s.ID()), "second")
		settle()
		cancel()
		<-got.done
		require.ErrorIs(t, got.err, context.Canceled)
		assert.Equal(t, plot(t, p.session(s.ID())), got.lines)
		assert.Empty(t, got.gaps)
	})
	atHome(t, "it follows another process", func(h *home) {
		t := h.t
		a := h.portal()
		s := a.start()
		prompt(t, s, "first")
		settle()
		b := h.portal()
		defer b.stop()
		r := follow.Session(b.host, b.session(s.ID()), 0)
		got := readOn(t.Context(), r)
		time.Sleep(2 * time.Minute) // without any other use
		prompt(t, s, "second")
		time.Sleep(time.Minute)
		a.stop()
		require.NoError(t, b.session(s.ID()).Close())
		<-got.done
		require.ErrorIs(t, got.err, io.EOF)
		assert.Contains(t, got.lines, "says: second")
		assert.Equal(t, plot(t, b.session(s.ID())), got.lines)
	})
	atHome(t, "a number beyond the record is a gap, and it continues with new entries", func(h *home) {
		t := h.t
		p := h.portalWith(copilot.Options{MaxClosed: 1, Limits: copilot.Limits{Idle: time.Minute}})
		defer p.stop()
		s := p.start()
		prompt(t, s, "first")
		settle()
		r := follow.Session(p.host, s, s.Record().Last()+50)
		ctx, cancel := context.WithCancel(t.Context())
		got := readOn(ctx, r)
		p.dropFromMemory(s)
		last := s.Record().Last()
		prompt(t, p.session(s.ID()), "second")
		settle()
		cancel()
		<-got.done
		require.Len(t, got.gaps, 1)
		assert.True(t, got.gaps[0].Stale)
		assert.Equal(t, last+1, got.gaps[0].First)
		assert.Contains(t, got.lines, "says: second")
		assert.NotContains(t, got.lines, "says: first")
	})
	atHome(t, "a deleted session ends the reader", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		s := p.start()
		late := follow.Session(p.host, s, 0)
		got := readOn(t.Context(), follow.Session(p.host, s, 0))
		settle()
		require.NoError(t, p.host.Delete(t.Context(), s.ID()))
		<-got.done
		require.ErrorIs(t, got.err, io.EOF)
		assert.Contains(t, got.lines, "closed")
		after := readOn(t.Context(), late)
		<-after.done
		require.ErrorIs(t, after.err, io.EOF, "even for a reader that starts after the deletion")
		assert.Equal(t, got.lines, after.lines)
	})
}

// dropFromMemory lets a session suspend, and uses others until it is
// evicted.
func (p *portal) dropFromMemory(s *copilot.Session) {
	p.t.Helper()
	time.Sleep(2 * time.Minute)
	for range 20 {
		o := p.start()
		settle()
		require.NoError(p.t, o.Close())
		time.Sleep(3 * time.Second)
	}
	here, _ := p.host.Loaded(s.ID())
	require.NotSame(p.t, s, here, "it was not evicted")
}
