package copilot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
	"github.com/copilot-portal/portal/copilot/store"
)

// R1: a session roused while the host closes is stored as closed by a client.
func TestReviewRouseDuringHostClose(t *testing.T) {
	atHome(t, "stays at rest", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = untilAborted
		h.agents.Before = func(ctx context.Context, c copilottest.Call) error {
			if c.Method == copilottest.Abort {
				return copilottest.Hang(ctx)
			}
			return nil
		}
		s := p.start()
		prompt(t, s, "first")
		settle()
		go func() { time.Sleep(time.Second); _, err := s.Prompt(copilot.Prompt{Text: "x"}); t.Log(err) }()
		p.stop()
		synctest.Wait()
		p = h.portal()
		defer p.stop()
		assert.Equal(t, copilot.StateIdle, p.session(s.ID()).Info().State)
	})
}

// R2: Delete beside a reopening leaves an open session that nobody knows.
func TestReviewDeleteBesideReopen(t *testing.T) {
	atHome(t, "is gone", func(h *home) {
		t := h.t
		p := h.portalWith(copilot.Options{Limits: copilot.Limits{Sessions: 1}})
		defer p.stop()
		s := p.start()
		prompt(t, s, "first")
		settle()
		s.Close()
		settle()
		h.agents.Before = func(ctx context.Context, c copilottest.Call) error {
			if c.Method == copilottest.Open {
				time.Sleep(time.Second)
			}
			return nil
		}
		reopened := make(chan error, 1)
		go func() { reopened <- s.Reopen(t.Context()) }()
		synctest.Wait()
		t.Log(p.host.Delete(t.Context(), s.ID()))
		<-reopened
		settle()
		_, err := s.Prompt(copilot.Prompt{Text: "second"})
		settle()
		assert.Error(t, err, "a deleted session takes prompts")
		for _, c := range h.agents.Calls(copilottest.Send) {
			assert.NotEqual(t, "second", c.Prompt)
		}
		_, err = p.host.Start(t.Context(), copilot.Start{Directory: h.work})
		assert.NoError(t, err, "its place is free")
	})
}

// R3: Close of a session at rest does nothing.
func TestReviewCloseAtRest(t *testing.T) {
	atHome(t, "is closed", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.stop()
		p = h.portal()
		defer p.stop()
		p.session(s.ID()).Close()
		settle()
		assert.Equal(t, copilot.StateClosed, p.session(s.ID()).Info().State)
	})
}

// lateCancel is a context that ends after its Done was asked for a number of times.
type lateCancel struct {
	context.Context
	left   atomic.Int32
	closed chan struct{}
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

// R4: a Rename whose client goes away after the lease was taken.
func TestReviewRenameGivenUp(t *testing.T) {
	for n := int32(1); n < 6; n++ {
		atHome(t, "gives the session back, and the run has its end", func(h *home) {
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
			t.Log(n, err)
			if err == nil {
				return
			}
			time.Sleep(time.Minute)
			head, err := q.store.Session(t.Context(), s.ID())
			require.NoError(t, err)
			_, err = q.store.Acquire(t.Context(), s.ID())
			assert.NoError(t, err, "after a minute it is still held, owner %d", head.Owner)
			if err == nil {
				return
			}
			prompt(t, s, "second")
			settle()
			assert.Contains(t, plot(t, s), "interrupted")
		})
	}
}

// R5: prompts that waited are lost when a reopening fails.
func TestReviewQueueOfAFailedReopen(t *testing.T) {
	atHome(t, "is not lost", func(h *home) {
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
		h.agents.Before = func(_ context.Context, c copilottest.Call) error {
			if c.Method == copilottest.Launch {
				return errors.New("no")
			}
			return nil
		}
		require.Error(t, s.Reopen(t.Context()))
		settle()
		h.agents.Before = nil
		s = p.session(s.ID())
		require.NoError(t, s.Reopen(t.Context()))
		require.NoError(t, s.Answer("q", copilot.Answer{Approved: true}, "test"))
		settle()
		assert.Contains(t, plot(t, s), "user: behind it")
	})
	atHome(t, "and at once again, the run goes on", func(h *home) {
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
		h.agents.Before = func(_ context.Context, c copilottest.Call) error {
			if c.Method == copilottest.Open {
				return errors.New("no")
			}
			return nil
		}
		require.Error(t, s.Reopen(t.Context()))
		h.agents.Before = nil
		prompt(t, s, "second")
		settle()
		assert.NoError(t, s.Answer("q", copilot.Answer{Approved: true}, "test"))
		settle()
		t.Logf("%q", plot(t, s))
		checkRuns(t, s)
	})
}

// checkRuns says whether each run has one end before the next begins.
func checkRuns(t *testing.T, s *copilot.Session) {
	t.Helper()
	open := ""
	for _, e := range past(t, s) {
		switch e.Value.Body.(type) {
		case copilot.RunStarted:
			assert.Empty(t, open, "a run has no end")
			open = e.Value.Run
		case copilot.RunEnded:
			open = ""
		}
	}
	assert.Empty(t, open, "the last run has no end")
}

// R6: Recover with no place left keeps the lease for ever.
func TestReviewRecoverWithoutPlace(t *testing.T) {
	atHome(t, "others can have it", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.kill()
		p = h.portalWith(copilot.Options{Limits: copilot.Limits{Sessions: 1}})
		q := h.portal()
		defer p.stop()
		defer q.stop()
		p.start()
		require.NoError(t, p.host.Recover(t.Context()))
		time.Sleep(time.Hour)
		assert.NoError(t, q.session(s.ID()).Answer("q", copilot.Answer{Approved: true}, "test"))
	})
}

// R7: what is known of a session is durable before the entries that it names.
func TestReviewHeadBeforeEntries(t *testing.T) {
	atHome(t, "a run always has an end", func(h *home) {
		t := h.t
		h.options.Memory = 1 // an entry at a time: a disk that is behind
		p := h.portal()
		end := make(chan struct{})
		h.agents.Script = func(t *copilottest.Turn) {
			if t.Prompt != "first" {
				t.Wait(time.Hour)
				return
			}
			<-end
			for range 20 {
				t.Emit(copilot.MessageDelta{ID: "m", Text: "x"})
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
		t.Logf("%q", plot(t, s))
		checkRuns(t, s)
		assert.Contains(t, plot(t, s), "user: second", "accepted seconds before")
	})
}

// R8: catching up over a hole gives readers an event under a wrong number.
func TestReviewCatchUpOverAHole(t *testing.T) {
	atHome(t, "never a wrong event", func(h *home) {
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
		h.agents.Script = func(t *copilottest.Turn) {
			for range 50 {
				t.Emit(copilot.MessageDelta{ID: "m", Text: "x"})
			}
			t.Emit(copilot.MessageEnded{ID: "m", Text: "whole"})
		}
		got := map[uint64]copilot.Body{}
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
		b.session(s.ID()) // somebody asks
		<-done
		for _, e := range past(t, b.session(s.ID())) {
			if body, ok := got[e.N]; ok {
				assert.Equal(t, e.Value.Body, body, "number %d", e.N)
				delete(got, e.N)
			}
		}
		assert.Empty(t, got, "numbers that nothing stands at")
	})
}

// R9: a fork of a run that waits for a place.
func TestReviewForkQueued(t *testing.T) {
	atHome(t, "has no run without an end", func(h *home) {
		t := h.t
		p := h.portalWith(copilot.Options{Limits: copilot.Limits{Runs: 1}})
		defer p.stop()
		h.agents.Script = untilAborted
		s, o := p.start(), p.start()
		prompt(t, o, "first")
		settle()
		prompt(t, s, "first")
		settle()
		c, err := p.host.Fork(t.Context(), s.ID())
		t.Log(s.Info().State, err)
		if err == nil {
			checkRuns(t, c)
		}
	})
}

// R10: another model while the session lies down.
func TestReviewUseWhileLyingDown(t *testing.T) {
	atHome(t, "waits and wakes it", func(h *home) {
		t := h.t
		asked := make(chan struct{}, 9)
		h.agents.Watched(func(ctx context.Context, c copilottest.Call) error {
			if c.Method == copilottest.Working {
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
		assert.NoError(t, s.SetModel(t.Context(), "model-b"))
	})
}

// R11: an orderly stop and an open permission.
func TestReviewStopWithAQuestion(t *testing.T) {
	atHome(t, "can be answered after it, as after a kill", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.stop()
		p = h.portal()
		defer p.stop()
		require.NoError(t, p.host.Recover(t.Context()))
		s = p.session(s.ID())
		t.Logf("%q", plot(t, s))
		assert.NoError(t, s.Answer("q", copilot.Answer{Approved: true}, "test"))
	})
}

// R7b: how often another process sees a head that names a run which is not stored, on an idle machine with the defaults.
func TestReviewWindow(t *testing.T) {
	data, work := t.TempDir(), t.TempDir()
	h := &home{t: t, agents: copilottest.New(), directory: data, work: work}
	defer h.agents.Close()
	h.agents.Script = func(t *copilottest.Turn) {
		for i := 0; i < 30; i++ {
			t.Emit(copilot.MessageDelta{ID: "m", Text: strings.Repeat("x", 2000)})
		}
		time.Sleep(30*time.Millisecond)
	}
	p := h.portal()
	q, err := store.Open(t.Context(), store.Options{Directory: data})
	require.NoError(t, err)
	s := p.start()
	time.Sleep(200 * time.Millisecond)
	for range 60 {
		prompt(t, s, "x")
	}
	seen := map[uint64]time.Duration{}
	var last time.Time
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); {
		head, err := q.Session(t.Context(), s.ID())
		require.NoError(t, err)
		var m struct{ Run uint64 }
		require.NoError(t, json.Unmarshal(head.Meta, &m))
		if m.Run > head.Last {
			if seen[m.Run] > 0 { seen[m.Run] += time.Since(last) } else { seen[m.Run] = 1 }
			last = time.Now()
		}
	}
	t.Log(s.Record().Last(), len(seen), seen)
	p.stop()
	_ = q.Close()
}

// R12: what other sessions wait for while one is taken from the store and the recorder comes to it.
func TestReviewStall(t *testing.T) {
	data, work := t.TempDir(), t.TempDir()
	h := &home{t: t, agents: copilottest.New(), directory: data, work: work}
	defer h.agents.Close()
	h.agents.Script = func(t *copilottest.Turn) {
		if t.Prompt == "large" {
			for i := 0; i < 6000; i++ {
				t.Emit(copilot.ToolEnded{ID: "m", Result: &copilot.ToolResult{Content: fmt.Sprint(i, strings.Repeat("some words ", 1000))}})
			}
		}
		t.Say("x")
	}
	p := h.portal()
	s := p.start()
	prompt(t, s, "large")
	time.Sleep(4 * time.Second)
	p.stop()
	p = h.portal()
	defer p.stop()
	other := p.start()
	time.Sleep(500 * time.Millisecond)
	s = p.session(s.ID())
	var worst, list time.Duration
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			prompt(t, other, "small")
			time.Sleep(10 * time.Millisecond)
			n, began := other.Record().Last(), time.Now()
			for {
				head, err := p.store.Session(t.Context(), other.ID())
				if err == nil && head.Last >= n {
					break
				}
				time.Sleep(time.Millisecond)
			}
			worst = max(worst, time.Since(began))
		}
	}()
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			began := time.Now()
			p.host.Stats()
			list = max(list, time.Since(began))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	time.Sleep(time.Second)
	t.Log("before", worst, list)
	worst, list = 0, 0
	began := time.Now()
	require.NoError(t, s.Rename(t.Context(), "name"))
	t.Log("rename took", time.Since(began))
	time.Sleep(time.Second)
	t.Log("during", worst, list)
	close(stop)
	<-done
}

// R13: what follows a session elsewhere costs while something else is recorded.
func TestReviewFollowLoad(t *testing.T) {
	data, work := t.TempDir(), t.TempDir()
	h := &home{t: t, agents: copilottest.New(), directory: data, work: work}
	defer h.agents.Close()
	h.agents.Script = func(t *copilottest.Turn) {
		for i := 0; i < 300; i++ {
			t.Emit(copilot.MessageDelta{ID: "m", Text: "x"})
			time.Sleep(4 * time.Millisecond)
		}
	}
	a, b := h.portal(), h.portal()
	defer a.stop()
	defer b.stop()
	var list []*copilot.Session
	for range 100 {
		list = append(list, a.start())
	}
	time.Sleep(2 * time.Second)
	late := func() time.Duration {
		s := b.start()
		time.Sleep(300 * time.Millisecond)
		prompt(t, s, "x")
		var worst time.Duration
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			n, began := s.Record().Last(), time.Now()
			for {
				head, err := b.store.Session(t.Context(), s.ID())
				if err == nil && head.Last >= n {
					break
				}
				time.Sleep(time.Millisecond)
			}
			worst = max(worst, time.Since(began))
		}
		return worst
	}
	t.Log("following none", late())
	for _, s := range list {
		b.session(s.ID())
	}
	t.Log("following 100", late())
}
