package copilot_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/testclock"
)

// leftWithAQuestion returns a session of a killed portal, held by the next one.
func leftWithAQuestion(h *home) (*portal, *copilot.Session) {
	p := h.portal()
	h.agents.Script = asksToRun
	s := p.start()
	prompt(h.t, s, "first")
	settle()
	p.kill()
	p = h.portal()
	return p, p.session(s.ID())
}

func TestAcquireFailsTwice(t *testing.T) {
	for n := int32(1); n < 8; n++ {
		atHome(t, "the run still ends", func(h *home) {
			t := h.t
			p, s := leftWithAQuestion(h)
			defer p.stop()
			require.NoError(t, s.Rename(t.Context(), "one"))
			ctx := &lateCancel{Context: context.Background(), closed: make(chan struct{})}
			close(ctx.closed)
			ctx.left.Store(n)
			_ = s.Rename(ctx, "two")
			prompt(t, s, "second")
			settle()
			_ = s.Answer("q", event.Answer{Approved: true}, "test")
			settle()
			checkRuns(t, s)
		})
	}
}

func TestRenameOfWaitingSession(t *testing.T) {
	atHome(t, "stays", func(h *home) {
		t := h.t
		p, s := leftWithAQuestion(h)
		defer p.stop()
		require.NoError(t, s.Rename(t.Context(), "mine"))
		prompt(t, s, "second")
		settle()
		assert.Equal(t, "mine", s.Info().Title)
	})
}

func TestSteeringWaitingRun(t *testing.T) {
	for name, end := range endings() {
		atHome(t, "not by "+name, func(h *home) {
			t := h.t
			p, s := leftWithAQuestion(h)
			require.NoError(t, p.host.Recover(t.Context()))
			settle()
			_, err := s.Prompt(event.Prompt{Text: "and this", Steer: true})
			require.NoError(t, err)
			time.Sleep(time.Hour)
			end(p)
			p = h.portal()
			defer p.stop()
			require.NoError(t, p.host.Recover(t.Context()))
			require.NoError(t, p.host.ReopenQuestions(t.Context()))
			s = p.session(s.ID())
			_ = s.Answer("q", event.Answer{Approved: true}, "test")
			settle()
			assert.Contains(t, plot(t, s), "user: and this")
		})
	}
}

// asksTwice is a script that asks in two turns.
func asksTwice(t *fake.Turn) {
	if t.Prompt != "first" {
		fake.Echo(t)
		return
	}
	for _, id := range []string{"q", "r"} {
		t.Emit(event.TurnStarted{ID: id})
		if _, ok := t.Ask(event.Question{ID: id, Kind: event.AskPermission, Names: []string{permission.Exec}}); !ok {
			return
		}
	}
}

func TestSteeringPromptSurvivesItsProcess(t *testing.T) {
	for name, end := range endings() {
		atHome(t, "in a run that continues after "+name, func(h *home) {
			t := h.t
			p := h.portal()
			h.agents.Script = asksTwice
			s := p.start()
			prompt(t, s, "first")
			settle()
			_, err := s.Prompt(event.Prompt{Text: "and this", Steer: true})
			require.NoError(t, err)
			for _, id := range []string{"q", "r"} {
				settle()
				end(p)
				p = h.portal()
				require.NoError(t, p.host.Recover(t.Context()))
				require.NoError(t, p.host.ReopenQuestions(t.Context()))
				s = p.session(s.ID())
				require.NoError(t, s.Answer(id, event.Answer{Approved: true}, "test"))
			}
			defer p.stop()
			settle()
			lines := plot(t, s)
			want := []string{"r is answered", "completed", "starts", "user: and this", "says: and this", "completed"}
			assert.Equal(t, want, lines[len(lines)-len(want):])
		})
	}
}

func TestEpochIsStoredBeforeItsEntries(t *testing.T) {
	atHome(t, "stale positions are detected", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = func(t *fake.Turn) {
			t.Say("stored")
			t.Wait(time.Hour)
			for range 5 {
				t.Say("lost")
			}
			t.Wait(time.Hour)
		}
		s := p.start()
		prompt(t, s, "first")
		settle()
		kept := s.Record().Position(s.Record().Last())
		require.NoError(t, p.store.Kill())
		time.Sleep(90 * time.Minute)
		lost := s.Record().Position(s.Record().Last())
		require.Greater(t, lost.N, kept.N)
		p.kill()

		h.options.Memory = 1 // a slow disk
		h.agents.Script = func(t *fake.Turn) {
			for range 200 {
				t.Say("other")
			}
		}
		p = h.portal()
		prompt(t, p.session(s.ID()), "second")
		time.Sleep(500 * time.Millisecond)
		p.kill()

		h.options.Memory = 0
		p = h.portal()
		defer p.stop()
		r := p.session(s.ID()).Record()
		require.Greater(t, r.Last(), lost.N)
		_, err := r.After(lost)
		var gap *journal.GapError
		require.ErrorAs(t, err, &gap, "numbers that now mean other events")
		assert.True(t, gap.Stale)
	})
}

func TestWaitingSessionIsRecovered(t *testing.T) {
	atHome(t, "it waits again", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.stop()
		p = h.portal() // an IDE: it serves, but does not reopen questions
		require.NoError(t, p.session(s.ID()).Rename(t.Context(), "mine"))
		settle()
		p.stop()
		p = h.portal()
		defer p.stop()
		require.NoError(t, p.host.Recover(t.Context()))
		require.NoError(t, p.host.ReopenQuestions(t.Context()))
		assert.Equal(t, copilot.StateWaiting, p.session(s.ID()).Info().State)
	})
	atHome(t, "after a failed reopening", func(h *home) {
		t := h.t
		p, s := leftWithAQuestion(h)
		h.agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Open {
				return errors.New("no")
			}
			return nil
		}
		require.Error(t, s.Reopen(t.Context()))
		settle()
		p.stop()
		h.agents.Before = nil
		p = h.portal()
		defer p.stop()
		require.NoError(t, p.host.Recover(t.Context()))
		require.NoError(t, p.host.ReopenQuestions(t.Context()))
		assert.Equal(t, copilot.StateWaiting, p.session(s.ID()).Info().State)
	})
}

var _ = synctest.Wait

// lockDB locks the database like another program.
func lockDB(t *testing.T, h *home) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(h.directory, "sessions.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	tx, err := db.BeginTx(context.Background(), nil)
	require.NoError(t, err)
	return func() { _ = tx.Rollback(); _ = db.Close() }
}

func TestSessionsStayInMemoryWhileStoreFails(t *testing.T) {
	atHome(t, "and can be used when the store works again", func(h *home) {
		t := h.t
		h.options.Busy = 5 * time.Millisecond
		p := h.portalWith(copilot.Options{MaxClosed: 1})
		defer p.stop()
		a, b := p.start(), p.start()
		prompt(t, a, "first")
		prompt(t, b, "first")
		settle()
		unlock := lockDB(t, h)
		prompt(t, a, "second")
		prompt(t, b, "second")
		time.Sleep(5 * time.Second)
		require.True(t, p.store.Failing())
		require.NoError(t, a.Close())
		time.Sleep(5 * time.Second)
		require.NoError(t, b.Close())
		time.Sleep(5 * time.Second)
		p.start()
		unlock()
		time.Sleep(time.Minute)
		require.False(t, p.store.Failing())
		for _, s := range []*copilot.Session{a, b} {
			_, err := p.host.Session(t.Context(), s.ID())
			require.NoError(t, err)
			s = p.session(s.ID())
			assert.NoError(t, s.Reopen(t.Context()))
		}
	})
}

func TestSessionIsEvictedDuringAcquire(t *testing.T) {
	h := &home{t: t, agents: fake.New(), directory: t.TempDir(), work: t.TempDir()}
	defer h.agents.Close()
	p := h.portal()
	s, x, o := p.start(), p.start(), p.start()
	prompt(t, s, "first")
	p.awaitPlot(s, "completed")
	for _, each := range []*copilot.Session{s, x, o} {
		p.eventually(func() bool { return p.host.Flushed(each.ID()) }, "it is stored")
	}
	p.stop()
	p = h.portalWith(copilot.Options{MaxClosed: 1})
	s = p.session(s.ID())
	p.session(x.ID())
	unlock := lockDB(t, h)
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(2500 * time.Millisecond)
		p.session(o.ID()) // makes room for it
		unlock()
	}()
	_, err := s.Prompt(event.Prompt{Text: "second"})
	<-done
	if err == nil {
		p.eventually(func() bool { return p.host.Flushed(s.ID()) }, "it is stored")
	}
	p.stop()
	p = h.portal()
	defer p.stop()
	assert.Equal(t, err == nil, slices.Contains(plot(t, p.session(s.ID())), "user: second"))
}

func TestForkOfWaitingSession(t *testing.T) {
	atHome(t, "and no question or call stays open", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = func(t *fake.Turn) {
			t.Emit(event.ToolStarted{ID: "t", Name: "bash"})
			asksToRun(t)
		}
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.kill()
		p = h.portal()
		defer p.stop()
		f, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		require.NoError(t, err)
		assert.Contains(t, plot(t, f), "q is cancelled")
		ends := of[event.ToolEnded](t, f)
		require.Len(t, ends, 1)
		assert.Equal(t, event.CodeInterrupted, ends[0].Error.Code)
		assert.Equal(t, event.Interrupted, f.Info().Outcome)
	})
}

func TestStopIsFastWhileFileIsLocked(t *testing.T) {
	h := &home{t: t, agents: fake.New(), directory: t.TempDir(), work: t.TempDir()}
	defer h.agents.Close()
	h.options.Busy = time.Second
	p := h.portal()
	defer func() { assert.NoError(t, p.store.Close()) }() // otherwise it writes while its directory is removed
	unlock := lockDB(t, h)
	defer unlock()
	for range 12 {
		p.start()
	}
	time.Sleep(3 * time.Second)
	began := testclock.Now()
	p.host.Close(context.Background())
	assert.Less(t, began.Elapsed(), 4*time.Second)
}

// background is a question of an agent that works on its own, between runs.
var background = event.QuestionAsked{Question: event.Question{ID: "background", Kind: event.AskPermission, Names: []string{permission.Write}}}

func TestQuestionBetweenRunsExpiresWithItsProcess(t *testing.T) {
	for name, next := range map[string]func(*copilot.Session){
		"and nothing follows": func(*copilot.Session) {},
		"and a run follows":   func(s *copilot.Session) { prompt(t, s, "first") },
	} {
		atHome(t, name, func(h *home) {
			p := h.portal()
			h.agents.Script = func(t *fake.Turn) { t.Wait(time.Hour) }
			s := p.start()
			h.agents.Emit(s.ID(), background)
			next(s)
			settle()
			p.kill()
			p = h.portal()
			defer p.stop()
			require.NoError(h.t, p.host.Recover(h.t.Context()))
			s = p.session(s.ID())
			assert.Contains(h.t, plot(h.t, s), "background is expired")
			assert.NotEqual(h.t, copilot.StateWaiting, s.Info().State)
		})
	}
}

func TestRunWithoutItsPromptIsNotLeftOpen(t *testing.T) {
	atHome(t, "even if a question is open", func(h *home) {
		p := h.portalWith(copilot.Options{Limits: copilot.Limits{Runs: 1}})
		h.agents.Script = func(t *fake.Turn) { t.Wait(time.Hour) }
		prompt(h.t, p.start(), "the only one that has a slot")
		settle()
		s := p.start()
		h.agents.Emit(s.ID(), background)
		prompt(h.t, s, "waits for its slot")
		settle()
		p.stop()
		p = h.portal()
		defer p.stop()
		lines := plot(h.t, p.session(s.ID()))
		assert.Contains(h.t, lines, "background is cancelled")
		assert.Contains(h.t, lines, "interrupted")
	})
}

func TestSessionIsCancelledWhileItIsActivated(t *testing.T) {
	h := connected(t)
	p := h.portal()
	var ids []string
	for range 30 {
		s := p.start()
		ids = append(ids, s.ID())
		prompt(t, s, "first")
		p.awaitPlot(s, "completed")
		p.eventually(func() bool { return p.host.Flushed(s.ID()) }, "it is stored")
	}
	p.stop()
	p = h.portal()
	defer p.stop()
	for _, id := range ids {
		s := p.session(id)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { _ = s.Cancel("unknown") })
		}
		all.Go(func() { prompt(t, s, "second") })
		all.Wait()
		p.awaitPlot(s, "says: second")
	}
}
