package copilot_test

import (
	"fmt"
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

func TestLimitOfSessions(t *testing.T) {
	options := copilot.Options{Limits: copilot.Limits{Sessions: 2}}
	start := func(w *world) error {
		_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
		return err
	}
	tests := []struct {
		name string
		do   func(w *world)
	}{
		{"the error says what to do", func(w *world) {
			w.start()
			w.start()
			err := start(w)
			require.EqualError(w.t, err, "2 sessions are open already; close one, or allow more with limits.sessions")
			assert.Equal(w.t, fault.Busy, fault.KindOf(err))
			assert.Len(w.t, w.listed(), 2)
		}},
		{"a closed session makes room, and needs it to be reopened", func(w *world) {
			first := w.start()
			w.start()
			first.Close()
			first.Close()
			third := w.start()
			assert.Equal(w.t, fault.Busy, fault.KindOf(first.Reopen(w.t.Context())))
			third.Close()
			require.NoError(w.t, first.Reopen(w.t.Context()))
			assert.Equal(w.t, fault.Busy, fault.KindOf(start(w)))
		}},
		{"failed starts take no room", func(w *world) {
			for range 5 {
				_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: "here"})
				require.ErrorIs(w.t, err, fault.ErrDirectoryNotAbsolute)
			}
			s := w.start()
			s.Close()
			w.agents.Before = fake.On(fake.Open, fake.HangForever)
			require.Error(w.t, s.Reopen(w.t.Context()))
			w.agents.Before = nil
			w.start()
			w.start()
		}},
		{"a session whose process died keeps its room", func(w *world) {
			w.start()
			w.start()
			w.loseProcess()
			assert.Equal(w.t, fault.Busy, fault.KindOf(start(w)))
		}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, options, tt.do)
	}
	inWorld(t, "the default is 500", copilot.Options{}, func(w *world) {
		for range 500 {
			require.NoError(w.t, start(w))
		}
		require.Error(w.t, start(w))
	})
}

// states returns the states of sessions.
func states(all ...*copilot.Session) []copilot.State {
	var list []copilot.State
	for _, s := range all {
		list = append(list, s.Info().State)
	}
	return list
}

func TestLimitOfRuns(t *testing.T) {
	const (
		idle, running, waiting, queued = copilot.StateIdle, copilot.StateRunning, copilot.StateWaiting, copilot.StateQueued
	)
	minute := func(t *fake.Turn) { t.Wait(time.Minute) }
	asks := func(t *fake.Turn) {
		if t.Prompt == "ask" {
			t.Ask(event.Question{Names: []string{permission.Write}})
		}
		t.Wait(time.Minute)
	}
	tests := []struct {
		name  string
		limit int
		do    func(w *world, a, b, c *copilot.Session)
	}{
		{"runs beyond the limit wait in order", 1, func(w *world, a, b, c *copilot.Session) {
			w.agents.Script = minute
			w.run(a, "1")
			w.run(b, "2")
			w.run(c, "3")
			assert.Equal(w.t, []copilot.State{running, queued, queued}, states(a, b, c))
			assert.Equal(w.t, []string{"r1 starts", "r1 user: 2", "r1 notice portal.queued"}, story(w.t, b)[1:])
			wait(time.Minute)
			assert.Equal(w.t, []copilot.State{idle, running, queued}, states(a, b, c))
			wait(time.Minute)
			assert.Equal(w.t, []copilot.State{idle, idle, running}, states(a, b, c))
			wait(time.Minute)
			assert.Equal(w.t, []copilot.State{idle, idle, idle}, states(a, b, c))
			assert.Equal(w.t, 3, w.agents.Count(fake.Send))
		}},
		{"a session with many prompts does not starve others", 1, func(w *world, a, b, _ *copilot.Session) {
			w.agents.Script = minute
			w.prompt(a, "1")
			w.prompt(a, "2")
			w.prompt(a, "3")
			synctest.Wait()
			w.run(b, "other")
			wait(time.Minute)
			assert.Equal(w.t, []copilot.State{queued, running}, states(a, b))
			wait(time.Minute)
			assert.Equal(w.t, []copilot.State{running, idle}, states(a, b))
		}},
		{"as many runs work as allowed", 2, func(w *world, a, b, c *copilot.Session) {
			w.agents.Script = minute
			w.run(a, "1")
			w.run(b, "2")
			w.run(c, "3")
			assert.Equal(w.t, []copilot.State{running, running, queued}, states(a, b, c))
		}},
		{"a queued run can be cancelled without the agent", 1, func(w *world, a, b, c *copilot.Session) {
			w.agents.Script = minute
			w.run(a, "1")
			w.run(b, "2")
			w.run(c, "3")
			require.NoError(w.t, b.Cancel(""))
			synctest.Wait()
			assert.Equal(w.t, []copilot.State{running, idle, queued}, states(a, b, c))
			wait(time.Minute)
			assert.Equal(w.t, []copilot.State{idle, idle, running}, states(a, b, c))
			assert.Equal(w.t, 2, w.agents.Count(fake.Send))
			assert.Equal(w.t, []event.RunEnded{{Outcome: event.Cancelled}}, of[event.RunEnded](w.t, b))
		}},
		{"a session whose run waits can be closed", 1, func(w *world, a, b, c *copilot.Session) {
			w.agents.Script = minute
			w.run(a, "1")
			w.run(b, "2")
			b.Close()
			w.run(c, "3")
			wait(time.Minute)
			assert.Equal(w.t, []copilot.State{idle, copilot.StateClosed, running}, states(a, b, c))
		}},
		{"a run that waits for a person lends its slot", 1, func(w *world, a, b, c *copilot.Session) {
			w.agents.Script = asks
			w.run(a, "ask")
			w.run(b, "2")
			w.run(c, "3")
			assert.Equal(w.t, []copilot.State{waiting, running, queued}, states(a, b, c))
			require.NoError(w.t, a.Answer("question-1", event.Answer{Approved: true}, "test"))
			synctest.Wait()
			assert.Equal(w.t, []copilot.State{running, running, queued}, states(a, b, c), "an answered run continues at once")
			wait(time.Minute)
			assert.Equal(w.t, []copilot.State{idle, idle, running}, states(a, b, c))
		}},
		{"runs beyond the limit delay later ones", 1, func(w *world, a, b, c *copilot.Session) {
			w.agents.Script = asks
			w.run(a, "ask")
			w.run(b, "2")
			wait(30 * time.Second)
			require.NoError(w.t, a.Answer("question-1", event.Answer{Approved: true}, "test"))
			w.run(c, "3")
			wait(30 * time.Second)
			assert.Equal(w.t, []copilot.State{running, idle, queued}, states(a, b, c))
			wait(30 * time.Second)
			assert.Equal(w.t, []copilot.State{idle, idle, running}, states(a, b, c))
		}},
		{"a run whose process died returns its slot", 1, func(w *world, a, b, _ *copilot.Session) {
			w.agents.Script = asks
			w.run(a, "ask")
			w.run(b, "2")
			w.loseProcess()
			w.agents.Script = minute
			w.run(a, "3")
			w.run(b, "4")
			assert.Equal(w.t, []copilot.State{running, queued}, states(a, b))
			wait(time.Minute)
			assert.Equal(w.t, []copilot.State{idle, running}, states(a, b))
		}},
		{"a question between runs takes no slot", 1, func(w *world, a, b, _ *copilot.Session) {
			w.agents.Script = minute
			q := event.Question{ID: "q", Kind: event.AskPermission, Names: []string{permission.Write}}
			w.agents.Emit(a.ID(), event.QuestionAsked{Question: q})
			require.NoError(w.t, a.Answer("q", event.Answer{Approved: true}, "test"))
			w.run(b, "1")
			assert.Equal(w.t, []copilot.State{idle, running}, states(a, b))
		}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{Limits: copilot.Limits{Runs: tt.limit}}, func(w *world) {
			tt.do(w, w.start(), w.start(), w.start())
		})
	}
	inWorld(t, "a hundred concurrent prompts all run, a few at a time", copilot.Options{Limits: copilot.Limits{Runs: 3}}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.Wait(time.Second) }
		var all []*copilot.Session
		for range 20 {
			all = append(all, w.start())
		}
		for i, s := range all {
			for j := range 5 {
				go w.prompt(s, fmt.Sprint(i, j))
			}
		}
		wait(33*time.Second + 500*time.Millisecond)
		n := 0
		for _, s := range all {
			n += len(of[event.RunEnded](w.t, s))
		}
		assert.Equal(w.t, 99, n)
		wait(time.Second)
	})
}
