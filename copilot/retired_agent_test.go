package copilot_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// firstIsFat makes the first process too large, so that it is replaced.
func (w *world) firstIsFat() {
	w.agents.SetMemory(func(process int) int64 {
		if process == 1 {
			return 2 << 30
		}
		return 1
	})
}

func TestSessionMovesToAnotherProcess(t *testing.T) {
	tests := []struct {
		name string
		do   func(w *world, s *copilot.Session)
	}{
		{"an idle session leaves a process that has grown, and continues elsewhere with its past", func(w *world, s *copilot.Session) {
			w.run(s, "a")
			w.firstIsFat()
			wait(5 * time.Second)
			assert.Zero(w.t, w.agents.Running())
			assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			w.agents.Script = func(t *fake.Turn) {
				assert.Equal(w.t, []string{"a"}, t.Past)
				fake.Echo(t)
			}
			w.run(s, "b")
			opened := w.agents.Calls(fake.Open)
			require.Len(w.t, opened, 2)
			assert.True(w.t, opened[1].Opening.Resume)
			assert.Empty(w.t, of[event.SessionError](w.t, s))
			assert.Empty(w.t, w.agents.Calls(fake.Abort))
		}},
		{"a run is never interrupted", func(w *world, s *copilot.Session) {
			other := w.start()
			w.agents.Script = func(t *fake.Turn) { t.Wait(time.Hour) }
			w.run(s, "a")
			w.firstIsFat()
			wait(time.Hour - time.Second)
			assert.Equal(w.t, 1, w.agents.Count(fake.Close), "only the other session has moved")
			assert.Equal(w.t, copilot.StateIdle, other.Info().State)
			wait(time.Second)
			assert.Zero(w.t, w.agents.Running())
			assert.Equal(w.t, []event.RunEnded{{Outcome: event.Completed}}, of[event.RunEnded](w.t, s))
		}},
		{"a session moves between consecutive runs", func(w *world, s *copilot.Session) {
			w.agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
			w.prompt(s, "a")
			w.prompt(s, "b")
			w.firstIsFat()
			wait(90 * time.Second)
			opened := w.agents.Calls(fake.Open)
			require.Len(w.t, opened, 2)
			assert.Equal(w.t, 2, opened[1].Process)
			assert.Equal(w.t, 1, w.agents.Running())
			wait(time.Minute)
		}},
		{"a session with background commands stays until they have ended", func(w *world, s *copilot.Session) {
			var running atomic.Bool
			running.Store(true)
			w.agents.SetBackground(func(string) bool { return running.Load() })
			w.firstIsFat()
			wait(10 * time.Minute)
			assert.Equal(w.t, 1, w.agents.Running())
			assert.InDelta(w.t, 20, w.agents.Count(fake.Background), 1, "polled twice a minute")
			w.run(s, "a")
			assert.Equal(w.t, 1, w.agents.Count(fake.Open), "prompted where it is")
			running.Store(false)
			wait(30 * time.Second)
			assert.Zero(w.t, w.agents.Running())
		}},
		{"a session whose agent cannot report background commands stays", func(w *world, _ *copilot.Session) {
			w.agents.BeforeProbe(fake.On(fake.Background, func(context.Context, fake.Call) error { return errors.New("no such call") }))
			w.firstIsFat()
			wait(10 * time.Minute)
			assert.Equal(w.t, 1, w.agents.Running())
		}},
		{"a session with an open question stays", func(w *world, s *copilot.Session) {
			q := event.Question{ID: "q", Kind: event.AskPermission, Names: []string{permission.Write}}
			w.agents.Emit(s.ID(), event.QuestionAsked{Question: q})
			w.firstIsFat()
			wait(10 * time.Minute)
			assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
			require.NoError(w.t, s.Answer("q", event.Answer{Approved: true}, "test"))
			wait(30 * time.Second)
			assert.Zero(w.t, w.agents.Running())
		}},
		{"a session stays while its model is being changed", func(w *world, s *copilot.Session) {
			w.agents.Before = fake.On(fake.SetModel, func(context.Context, fake.Call) error {
				<-time.After(8 * time.Second)
				return nil
			})
			w.firstIsFat()
			require.NoError(w.t, s.SetModel(w.t.Context(), "model-b"))
			assert.Equal(w.t, 1, w.agents.Running())
			wait(time.Minute)
			assert.Zero(w.t, w.agents.Running())
			w.run(s, "a")
			assert.Equal(w.t, "model-b", w.agents.Calls(fake.Open)[1].Opening.Model)
		}},
		{"the model can be changed after the move", func(w *world, s *copilot.Session) {
			w.firstIsFat()
			wait(5 * time.Second)
			require.NoError(w.t, s.SetModel(w.t.Context(), "model-b"))
			w.run(s, "a")
			assert.Equal(w.t, "model-b", w.agents.Calls(fake.Open)[1].Opening.Model)
		}},
		{"a moved session can be closed and reopened", func(w *world, s *copilot.Session) {
			w.firstIsFat()
			wait(5 * time.Second)
			s.Close()
			require.NoError(w.t, s.Reopen(w.t.Context()))
			w.run(s, "a")
			assert.Len(w.t, of[event.MessageEnded](w.t, s), 1)
		}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{Pool: agent.PoolOptions{MinAge: -1}}, func(w *world) { tt.do(w, w.start()) })
	}
}

func TestSessionsOfSeveralProcesses(t *testing.T) {
	options := copilot.Options{Pool: agent.PoolOptions{Size: 2, PerProcess: 2}}
	inWorld(t, "a session stays with its process, and an unneeded process ends", options, func(w *world) {
		var all []*copilot.Session
		for range 4 {
			all = append(all, w.start())
		}
		for _, s := range all {
			w.run(s, "a")
		}
		var at []int
		for i, c := range w.agents.Calls(fake.Open, fake.Send) {
			if i >= 4 {
				assert.Equal(w.t, fake.Send, c.Method, "no conversation is opened again")
			}
			at = append(at, c.Process)
		}
		assert.Equal(w.t, []int{1, 1, 2, 2, 1, 1, 2, 2}, at)
		all[2].Close()
		wait(time.Hour)
		assert.Equal(w.t, 2, w.agents.Running())
		all[3].Close()
		wait(10*time.Second - time.Millisecond)
		assert.Equal(w.t, 2, w.agents.Running())
		wait(time.Millisecond)
		assert.Equal(w.t, 1, w.agents.Running())
		w.run(all[0], "b")
		w.start()
		synctest.Wait()
		assert.Equal(w.t, 3, w.agents.Count(fake.Launch), "the first process is full again")
	})
}
