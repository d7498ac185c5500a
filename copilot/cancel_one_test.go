package copilot_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

func TestCancelOneRun(t *testing.T) {
	told := []string{
		"r1 starts", "r1 user: a", "r1 completed",
		"r2 starts", "r2 user: b", "r2 cancelled",
		"r3 starts", "r3 user: c", "r3 says: c", "r3 completed",
	}
	waits := func(w *world, s *copilot.Session) (runs []string) {
		w.t.Helper()
		w.agents.Script = func(t *fake.Turn) {
			if t.Prompt == "a" {
				t.Wait(time.Minute)
				return
			}
			fake.Echo(t)
		}
		for _, text := range []string{"a", "b", "c"} {
			runs = append(runs, w.prompt(s, text))
		}
		synctest.Wait()
		return runs
	}
	inWorld(t, "a queued run ends in its turn, without the agent", copilot.Options{}, func(w *world) {
		s := w.start()
		runs := waits(w, s)
		require.NoError(w.t, s.Cancel(runs[1]))
		require.NoError(w.t, s.Cancel(runs[1]), "cancelling twice")
		assert.Equal(w.t, copilot.StateRunning, s.Info().State)
		wait(time.Hour)
		assert.Equal(w.t, told, story(w.t, s)[1:])
		assert.Equal(w.t, 2, w.agents.Count(fake.Send))
		assert.Zero(w.t, w.agents.Count(fake.Abort))
	})
	inWorld(t, "a run that is only starting", copilot.Options{}, func(w *world) {
		s := w.start()
		runs := waits(w, s)
		require.NoError(w.t, s.Cancel(runs[1]))
		require.NoError(w.t, s.Cancel(runs[2]))
		w.agents.Kill()
		wait(time.Hour)
		assert.Equal(w.t, 1, w.agents.Count(fake.Launch))
		assert.Len(w.t, of[event.RunEnded](w.t, s), 3)
	})
	inWorld(t, "the current run only", copilot.Options{}, func(w *world) {
		s := w.start()
		runs := waits(w, s)
		require.NoError(w.t, s.Cancel(runs[0]))
		wait(time.Hour)
		ends := of[event.RunEnded](w.t, s)
		assert.Equal(w.t, []event.RunEnded{{Outcome: event.Cancelled}, {Outcome: event.Completed}, {Outcome: event.Completed}}, ends)
		for _, run := range append(runs, "x") {
			require.ErrorIs(w.t, s.Cancel(run), fault.ErrRunNotFound)
		}
		require.NoError(w.t, s.Cancel(""))
		s.Close()
		require.ErrorIs(w.t, s.Cancel(runs[0]), fault.ErrSessionClosed)
	})
	atHome(t, "a queued run stays cancelled after a kill", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(t, s, "first")
		prompt(t, s, "kept")
		run, err := s.Prompt(event.Prompt{Text: "gone"})
		require.NoError(t, err)
		settle()
		require.NoError(t, s.Cancel(run))
		settle()
		p.kill()

		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		require.NoError(t, s.Cancel(""), "there is no run")
		require.ErrorIs(t, s.Cancel(run), fault.ErrRunNotFound)
		require.NoError(t, s.Answer("q", event.Answer{Approved: true}, "test"))
		settle()
		told := plot(t, s)
		assert.Contains(t, told, "user: kept")
		assert.NotContains(t, told, "user: gone")
	})
}

func TestCancelRunOfSuspendedSession(t *testing.T) {
	for name, end := range endings() {
		atHome(t, "the run that waits for an answer after "+name, func(h *home) {
			t := h.t
			p := h.portal()
			h.agents.Script = asksToRun
			s := p.start()
			run, err := s.Prompt(event.Prompt{Text: "first"})
			require.NoError(t, err)
			prompt(t, s, "behind it")
			settle()
			end(p)

			p = h.portal()
			defer p.stop()
			s = p.session(s.ID())
			require.NoError(t, s.Cancel(run))
			settle()
			require.ErrorIs(t, s.Answer("q", event.Answer{Approved: true}, "test"), fault.ErrAlreadyAnswered)
			told := plot(t, s)
			assert.Contains(t, told, "cancelled")
			assert.Contains(t, told, "says: behind it")
			require.ErrorIs(t, s.Cancel(run), fault.ErrRunNotFound)
			checkRuns(t, s)
		})
	}
	atHome(t, "an ended run, without activating the session", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		run, err := s.Prompt(event.Prompt{Text: "first"})
		require.NoError(t, err)
		settle()
		p.stop()
		a, b := h.portal(), h.portal()
		defer a.stop()
		defer b.stop()
		require.ErrorIs(t, a.session(s.ID()).Cancel(run), fault.ErrRunNotFound)
		prompt(t, b.session(s.ID()), "second")
		settle()
		require.ErrorIs(t, a.session(s.ID()).Cancel(run), fault.ErrSessionInUse)
		require.ErrorIs(t, a.session(s.ID()).Cancel(""), fault.ErrSessionInUse)
	})
}

func TestPromptThatRefusesToQueue(t *testing.T) {
	alone := event.Prompt{Text: "x", RefuseIfBusy: true}
	tests := []struct {
		name   string
		do     func(w *world, s *copilot.Session)
		prompt event.Prompt
		want   error
	}{
		{"starts without a run", func(*world, *copilot.Session) {}, alone, nil},
		{"starts after a run that has ended", func(w *world, s *copilot.Session) { w.run(s, "a") }, alone, nil},
		{"is rejected during a run", func(w *world, s *copilot.Session) {
			w.agents.Script = untilAborted
			w.run(s, "a")
		}, alone, fault.ErrBusy},
		{"is rejected during a run that has just started", func(w *world, s *copilot.Session) {
			w.agents.Script = untilAborted
			w.prompt(s, "a")
		}, alone, fault.ErrBusy},
		{"is rejected behind queued prompts", func(w *world, s *copilot.Session) {
			w.agents.Script = untilAborted
			w.prompt(s, "a")
			w.prompt(s, "b")
			require.NoError(w.t, s.Cancel(""))
		}, alone, fault.ErrBusy},
		{"joins the run that it steers", func(w *world, s *copilot.Session) {
			w.agents.Script = untilAborted
			w.run(s, "a")
		}, event.Prompt{Text: "x", RefuseIfBusy: true, Steer: true}, nil},
		{"is rejected by a closed session", func(_ *world, s *copilot.Session) { s.Close() }, alone, fault.ErrSessionClosed},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.start()
			tt.do(w, s)
			_, err := s.Prompt(tt.prompt)
			require.ErrorIs(w.t, err, tt.want)
			synctest.Wait()
			for _, m := range of[event.UserMessage](w.t, s) {
				assert.False(w.t, m.Prompt.RefuseIfBusy)
			}
		})
	}
	inWorld(t, "is one of many concurrent prompts", copilot.Options{}, func(w *world) {
		s := w.start()
		w.agents.Script = untilAborted
		errs := make(chan error, 20)
		for range cap(errs) {
			go func() {
				_, err := s.Prompt(alone)
				errs <- err
			}()
		}
		refused := 0
		for range cap(errs) {
			if err := <-errs; err != nil {
				require.ErrorIs(w.t, err, fault.ErrBusy)
				refused++
			}
		}
		assert.Equal(w.t, cap(errs)-1, refused)
	})
}

func TestRunIsFoundByItsID(t *testing.T) {
	inWorld(t, "while it runs or waits", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		s := w.start()
		first, second := w.prompt(s, "x"), w.prompt(s, "y")
		for _, id := range []string{first, second} {
			at, ok := w.host.SessionByRun(id)
			assert.True(w.t, ok)
			assert.Same(w.t, s, at)
		}
		wait(time.Hour)
		_, ok := w.host.SessionByRun(second)
		assert.False(w.t, ok, "the run has ended")
	})
}

func TestHasOpenQuestion(t *testing.T) {
	inWorld(t, "until it is answered", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			t.Ask(event.Question{ID: "q", Kind: event.AskPermission, Names: []string{permission.Exec}})
		}
		s := w.start()
		w.prompt(s, "x")
		wait(time.Second)
		assert.True(w.t, s.HasOpenQuestion("q"))
		assert.False(w.t, s.HasOpenQuestion("other"))
		require.NoError(w.t, s.Answer("q", event.Answer{Approved: true}, "test"))
		assert.False(w.t, s.HasOpenQuestion("q"))
	})
}
