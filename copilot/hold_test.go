package copilot_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestSessionIsUsedDuringShutdown(t *testing.T) {
	atHome(t, "stays suspended", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = untilAborted
		h.agents.Before = func(ctx context.Context, c fake.Call) error {
			if c.Method == fake.Abort {
				return fake.HangForever(ctx, c)
			}
			return nil
		}
		s := p.start()
		prompt(t, s, "first")
		settle()
		go func() {
			time.Sleep(time.Second)
			_, _ = s.Prompt(event.Prompt{Text: "x"}) // rejected or not
		}()
		p.stop()
		synctest.Wait()
		p = h.portal()
		defer p.stop()
		assert.Equal(t, copilot.StateIdle, p.session(s.ID()).Info().State)
	})
}

func TestRecordsOfInactiveSessionsEndWithTheHost(t *testing.T) {
	for name, uses := range map[string]func(here, elsewhere *portal) *portal{
		"never used":     func(_, _ *portal) *portal { return nil },
		"suspended":      func(here, _ *portal) *portal { return here },
		"held elsewhere": func(_, elsewhere *portal) *portal { return elsewhere },
	} {
		atHome(t, name, func(h *home) {
			before := h.portal()
			id := before.start().ID()
			prompt(h.t, before.session(id), "first")
			settle()
			before.stop()
			p, other := h.portalWith(copilot.Options{Limits: copilot.Limits{Idle: 100 * time.Millisecond}}), h.portal()
			defer other.stop()
			if by := uses(p, other); by != nil {
				prompt(h.t, by.session(id), "second")
				settle()
			}
			s := p.session(id)
			ended := make(chan error, 1)
			go func() {
				_, err := s.Record().Next(context.Background(), s.Record().Last(), 0)
				ended <- err
			}()
			synctest.Wait()
			require.Empty(h.t, ended)
			p.stop()
			synctest.Wait()
			if assert.NotEmpty(h.t, ended, "the reader waits") {
				require.ErrorIs(h.t, <-ended, io.EOF)
			}
			s.Record().Close()
		})
	}
}

// reopening begins to reopen a closed session with a past; open delays the opening of its conversation.
func (p *portal) reopening(open func(context.Context, fake.Call) error) (s *copilot.Session, reopened <-chan error) {
	p.t.Helper()
	s = p.start()
	prompt(p.t, s, "first")
	settle()
	require.NoError(p.t, s.Close())
	settle()
	p.agents.Before = fake.On(fake.Open, open)
	result := make(chan error, 1)
	go func() { result <- s.Reopen(p.t.Context()) }()
	synctest.Wait()
	return s, result
}

func TestSessionIsDeletedDuringReopen(t *testing.T) {
	atHome(t, "is deleted", func(h *home) {
		t := h.t
		p := h.portalWith(copilot.Options{Limits: copilot.Limits{Sessions: 1}})
		defer p.stop()
		s, reopened := p.reopening(func(context.Context, fake.Call) error { time.Sleep(time.Second); return nil })
		require.NoError(t, p.host.Delete(t.Context(), s.ID()))
		<-reopened
		settle()
		_, err := s.Prompt(event.Prompt{Text: "second"})
		settle()
		require.Error(t, err, "a deleted session accepts prompts")
		for _, c := range h.agents.Calls(fake.Send) {
			assert.NotEqual(t, "second", c.Prompt)
		}
		_, err = p.host.Start(t.Context(), copilot.Start{Directory: h.work})
		require.NoError(t, err, "its place is free")
	})
}

// lateCancel is a context that ends after some calls of its Done.
type lateCancel struct {
	context.Context //nolint:containedctx // it is one itself
	left            atomic.Int32
	closed          chan struct{}
}

func (c *lateCancel) Done() <-chan struct{} {
	if c.left.Add(-1) < 0 {
		return c.closed
	}
	return nil
}

func (c *lateCancel) Err() error {
	if c.left.Load() <= 0 {
		return context.Canceled
	}
	return nil
}

func TestCancelledRename(t *testing.T) {
	for n := int32(1); n < 6; n++ {
		atHome(t, "releases the session, and the run ends", func(h *home) {
			t := h.t
			p := h.portal()
			h.agents.Script = untilAborted
			s := p.start()
			prompt(t, s, "first")
			settle()
			p.kill()
			h.agents.Script = nil
			p, q := h.portal(), h.portal()
			defer p.stop()
			defer q.stop()
			s = p.session(s.ID())
			ctx := &lateCancel{Context: context.Background(), closed: make(chan struct{})}
			close(ctx.closed)
			ctx.left.Store(n)
			err := s.Rename(ctx, "title")
			if err == nil {
				return
			}
			time.Sleep(time.Minute)
			head, err := q.store.Session(t.Context(), s.ID())
			require.NoError(t, err)
			_, err = q.store.Acquire(t.Context(), s.ID())
			require.NoError(t, err, "still held after a minute, owner %d", head.Owner)
		})
	}
}

func TestFailedReopen(t *testing.T) {
	atHome(t, "loses no prompt", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(t, s, "first")
		prompt(t, s, "behind it")
		settle()
		p.kill()
		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		h.agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Launch {
				return errors.New("no")
			}
			return nil
		}
		require.Error(t, s.Reopen(t.Context()))
		settle()
		h.agents.Before = nil
		s = p.session(s.ID())
		require.NoError(t, s.Reopen(t.Context()))
		require.NoError(t, s.Answer("q", event.Answer{Approved: true}, "test"))
		settle()
		assert.Contains(t, plot(t, s), "user: behind it")
	})
	atHome(t, "followed by another one, continues the run", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.kill()
		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		h.agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Open {
				return errors.New("no")
			}
			return nil
		}
		require.Error(t, s.Reopen(t.Context()))
		h.agents.Before = nil
		prompt(t, s, "second")
		settle()
		require.NoError(t, s.Answer("q", event.Answer{Approved: true}, "test"))
		settle()
		checkRuns(t, s)
	})
}

// checkRuns checks that each run has one end before the next starts.
func checkRuns(t *testing.T, s *copilot.Session) {
	t.Helper()
	open := ""
	for _, e := range past(t, s) {
		switch e.Value.Body.(type) {
		case event.RunStarted:
			assert.Empty(t, open, "a run has no end")
			open = e.Value.Run
		case event.RunEnded:
			open = ""
		}
	}
	assert.Empty(t, open, "the last run has no end")
}

func TestKillWhileStoreLags(t *testing.T) {
	atHome(t, "every run ends", func(h *home) {
		t := h.t
		h.options.Memory = 1 // one entry at a time, like a slow disk
		p := h.portal()
		end := make(chan struct{})
		h.agents.Script = func(t *fake.Turn) {
			if t.Prompt != "first" {
				t.Wait(time.Hour)
				return
			}
			<-end
			for range 20 {
				t.Emit(event.MessageDelta{ID: "m", Text: "x"})
			}
		}
		s := p.start()
		prompt(t, s, "first")
		prompt(t, s, "second")
		settle()
		close(end)
		time.Sleep(100 * time.Millisecond)
		p.kill()
		h.options.Memory = 0
		p = h.portal()
		defer p.stop()
		require.NoError(t, p.host.Recover(t.Context()))
		s = p.session(s.ID())
		checkRuns(t, s)
		assert.Contains(t, plot(t, s), "user: second", "accepted seconds earlier")
	})
}

func TestReaderReportsGap(t *testing.T) {
	atHome(t, "and never a wrong event", func(h *home) {
		t := h.t
		a := h.portal()
		s := a.start()
		prompt(t, s, "first")
		settle()
		a.stop()
		b, c := h.portal(), h.portal()
		defer b.stop()
		defer c.stop()
		reader := b.session(s.ID())
		at := reader.Record().Last()
		h.agents.Script = func(t *fake.Turn) {
			for range 50 {
				t.Emit(event.MessageDelta{ID: "m", Text: "x"})
			}
			t.Emit(event.MessageEnded{ID: "m", Text: "whole"})
		}
		got := map[uint64]event.Body{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for after := at; ; {
				entries, err := reader.Record().Next(t.Context(), after, 0)
				if err != nil {
					return
				}
				for _, e := range entries {
					got[e.N], after = e.Value.Body, e.N
				}
			}
		}()
		prompt(t, c.session(s.ID()), "second")
		time.Sleep(3 * time.Minute)
		b.session(s.ID()) // trigger a lookup
		<-done
		for _, e := range past(t, b.session(s.ID())) {
			if body, ok := got[e.N]; ok {
				assert.Equal(t, e.Value.Body, body, "number %d", e.N)
				delete(got, e.N)
			}
		}
		assert.Empty(t, got, "numbers without an entry")
	})
}

func TestForkDuringRun(t *testing.T) {
	atHome(t, "is rejected, even while the run is queued", func(h *home) {
		t := h.t
		p := h.portalWith(copilot.Options{Limits: copilot.Limits{Runs: 1}})
		defer p.stop()
		h.agents.Script = untilAborted
		s, o := p.start(), p.start()
		prompt(t, o, "first")
		settle()
		prompt(t, s, "first")
		settle()
		_, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		assert.Equal(t, fault.Busy, fault.KindOf(err))
	})
}

func TestSessionIsUsedDuringSuspend(t *testing.T) {
	atHome(t, "waits and activates it", func(h *home) {
		t := h.t
		asked := make(chan struct{}, 9)
		h.agents.BeforeProbe(func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Working {
				asked <- struct{}{}
				time.Sleep(time.Second)
			}
			return nil
		})
		p := h.portal()
		defer p.stop()
		s := p.start()
		prompt(t, s, "first")
		<-asked
		require.NoError(t, s.SetModel(t.Context(), "model-b"))
	})
}
