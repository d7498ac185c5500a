package copilot_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// forget is a script whose end is not reported.
func forget(t *fake.Turn) {
	t.Wait(time.Millisecond) // so that Send has returned
	fake.Echo(t)
	t.Forget()
}

func TestForgottenIdle(t *testing.T) {
	ended := []string{"r1 starts", "r1 user: a", "r1 says: a", "r1 notice portal.idle_forgotten", "r1 completed"}
	running := []string{"r1 starts", "r1 user: a"}
	tests := []struct {
		name string
		do   func(w *world, s *copilot.Session)
		want []string
	}{
		{"a run without a reported end ends after half a minute, with its text", func(w *world, s *copilot.Session) {
			w.agents.Script = forget
			w.run(s, "a")
			wait(32*time.Second - time.Millisecond)
			assert.Equal(w.t, copilot.StateRunning, s.Info().State)
			wait(time.Millisecond)
			assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			assert.Equal(w.t, 2, w.agents.Count(fake.Working))
		}, ended},
		{"the next run continues", func(w *world, s *copilot.Session) {
			w.agents.Script = func(t *fake.Turn) {
				if t.Prompt == "a" {
					forget(t)
					return
				}
				fake.Echo(t)
			}
			w.prompt(s, "a")
			w.run(s, "b")
			wait(time.Minute)
		}, append(ended[:len(ended):len(ended)], "r2 starts", "r2 user: b", "r2 says: b", "r2 completed")},
		{"a working agent is probed less and less often", func(w *world, s *copilot.Session) {
			w.agents.Script = func(t *fake.Turn) { t.Wait(10 * time.Minute) }
			w.run(s, "a")
			wait(10*time.Minute - time.Second)
			assert.Equal(w.t, 11, w.agents.Count(fake.Working), "after 15 s, 45 s, and every minute")
			wait(time.Second)
		}, append(running[:2:2], "r1 completed")},
		{"an agent that sends events is not probed", func(w *world, s *copilot.Session) {
			w.agents.Script = func(t *fake.Turn) {
				for range 100 {
					t.Wait(14 * time.Second)
					t.Emit(event.UsageChanged{Used: 1})
				}
			}
			w.run(s, "a")
			wait(1400 * time.Second)
			assert.Zero(w.t, w.agents.Count(fake.Working))
		}, append(running[:2:2], "r1 completed")},
		{"an agent is not probed while a question is open", func(w *world, s *copilot.Session) {
			w.agents.Script = func(t *fake.Turn) { t.Ask(event.Question{Names: []string{permission.Write}}) }
			w.run(s, "a")
			wait(time.Hour)
			assert.Zero(w.t, w.agents.Count(fake.Working))
			require.NoError(w.t, s.Answer("question-1", event.Answer{Approved: true}, "test"))
			wait(0)
		}, append(running[:2:2], "r1 asks question-1", "r1 question-1 is answered", "r1 completed")},
		{"an event between two denials invalidates the first", func(w *world, s *copilot.Session) {
			w.agents.Script = forget
			w.run(s, "a")
			wait(31 * time.Second)
			w.agents.Emit(s.ID(), event.UsageChanged{Used: 1})
			wait(17 * time.Second)
			assert.Equal(w.t, copilot.StateRunning, s.Info().State)
			wait(time.Second)
		}, ended},
		{"an agent that cannot tell counts as working", func(w *world, s *copilot.Session) {
			w.agents.BeforeProbe(fake.On(fake.Working, func(context.Context, fake.Call) error { return errors.New("no such call") }))
			w.agents.Script = forget
			w.run(s, "a")
			wait(time.Hour)
			assert.Equal(w.t, copilot.StateRunning, s.Info().State)
			w.agents.BeforeProbe(nil)
			wait(time.Minute + 2*time.Second)
		}, ended},
		{"a run can be cancelled during a probe", func(w *world, s *copilot.Session) {
			w.agents.BeforeProbe(fake.On(fake.Working, fake.HangForever))
			w.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
			w.run(s, "a")
			wait(16 * time.Second)
			began := time.Now()
			require.NoError(w.t, s.Cancel(""))
			wait(0)
			assert.Zero(w.t, time.Since(began))
		}, append(running[:2:2], "r1 cancelled")},
		{"a late report ends no other run", func(w *world, s *copilot.Session) {
			w.agents.Script = forget
			w.run(s, "a")
			wait(32 * time.Second)
			w.agents.Emit(s.ID(), event.Idle{})
			w.agents.Script = nil
			w.run(s, "b")
		}, append(ended[:len(ended):len(ended)], "r2 starts", "r2 user: b", "r2 says: b", "r2 completed")},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.start()
			tt.do(w, s)
			assert.Equal(w.t, tt.want, story(w.t, s)[1:])
		})
	}
}

func TestSteeringPromptSurvivesForgottenIdle(t *testing.T) {
	inWorld(t, "it reaches the agent or gets a run of its own", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			if t.Prompt == "a" {
				forget(t)
				return
			}
			fake.Echo(t)
		}
		w.agents.Before = onSteers(slowly(500 * time.Millisecond))
		s := w.start()
		w.run(s, "a")
		wait(31800 * time.Millisecond) // just before the probe ends the run
		w.steer(s, "b")
		wait(time.Minute)
		assert.Contains(w.t, story(w.t, s), "r2 user: b")
	})
}
