package copilot_test

import (
	"context"
	"errors"
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

// untilAborted is a script that works until it is aborted.
func untilAborted(t *fake.Turn) {
	t.Say("I begin")
	t.WaitForAbort()
}

// firstAborts is a script in which only the first prompt lasts until it is aborted.
func firstAborts(t *fake.Turn) {
	if len(t.Past) == 0 {
		t.WaitForAbort()
		return
	}
	fake.Echo(t)
}

// loseProcess kills the process of an idle session, which opens its
// conversation again with the next prompt.
func (w *world) loseProcess() {
	w.agents.Kill()
	synctest.Wait()
}

func TestCancel(t *testing.T) {
	cancel := func(w *world, s *copilot.Session) {
		w.t.Helper()
		require.NoError(w.t, s.Cancel(""))
		synctest.Wait()
	}
	tests := []struct {
		name string
		do   func(w *world, s *copilot.Session)
		want []string // after the opening
	}{
		{
			"a run is cancelled", func(w *world, s *copilot.Session) {
				w.agents.Script = untilAborted
				w.run(s, "a")
				cancel(w, s)
				assert.Equal(w.t, 1, w.agents.Count(fake.Abort))
			},
			[]string{"r1 starts", "r1 user: a", "r1 says: I begin", "r1 cancelled"},
		},
		{
			"cancelling twice is harmless", func(w *world, s *copilot.Session) {
				w.agents.Script = untilAborted
				w.run(s, "a")
				require.NoError(w.t, s.Cancel(""))
				cancel(w, s)
				assert.Equal(w.t, 1, w.agents.Count(fake.Abort))
			},
			[]string{"r1 starts", "r1 user: a", "r1 says: I begin", "r1 cancelled"},
		},
		{
			"without a run nothing is cancelled", func(w *world, s *copilot.Session) {
				cancel(w, s)
				w.run(s, "a")
				cancel(w, s)
				assert.Zero(w.t, w.agents.Count(fake.Abort))
			},
			[]string{"r1 starts", "r1 user: a", "r1 says: a", "r1 completed"},
		},
		{
			"a run that has just been requested is cancelled", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) {
					if t.Prompt == "a" {
						t.WaitForAbort() // the agent may have been faster
						return
					}
					fake.Echo(t)
				}
				w.prompt(s, "a")
				cancel(w, s)
				w.run(s, "b")
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "r2 starts", "r2 user: b", "r2 says: b", "r2 completed"},
		},
		{
			"queued prompts continue", func(w *world, s *copilot.Session) {
				w.agents.Script = firstAborts
				w.prompt(s, "a")
				w.prompt(s, "b")
				w.prompt(s, "c")
				synctest.Wait()
				cancel(w, s)
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 cancelled",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
				"r3 starts", "r3 user: c", "r3 says: c", "r3 completed",
			},
		},
		{
			"a run that waits for an answer is cancelled with its question", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) { t.Ask(event.Question{Names: []string{permission.Write}}) }
				w.run(s, "a")
				cancel(w, s)
				assert.ErrorIs(w.t, s.Answer("question-1", event.Answer{}, "test"), fault.ErrAlreadyAnswered)
			},
			[]string{"r1 starts", "r1 user: a", "r1 asks question-1", "r1 question-1 is cancelled", "r1 cancelled"},
		},
		{
			"a run is cancelled while the process starts", func(w *world, s *copilot.Session) {
				w.loseProcess()
				w.agents.Before = fake.On(fake.Launch, fake.HangForever)
				w.run(s, "a")
				cancel(w, s)
				assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			},
			[]string{"- failure (unavailable)", "r1 starts", "r1 user: a", "r1 cancelled"},
		},
		{
			"a run is cancelled while the conversation opens", func(w *world, s *copilot.Session) {
				w.loseProcess()
				w.agents.Before = fake.On(fake.Open, fake.HangForever)
				w.run(s, "a")
				cancel(w, s)
				assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			},
			[]string{"- failure (unavailable)", "r1 starts", "r1 user: a", "r1 cancelled"},
		},
		{
			"a prompt after a cancelled start is answered", func(w *world, s *copilot.Session) {
				w.loseProcess()
				w.agents.Before = fake.SlowLaunch(5 * time.Second)
				w.run(s, "a")
				cancel(w, s)
				w.run(s, "b")
				wait(5 * time.Second)
				assert.Equal(w.t, 2, w.agents.Count(fake.Launch))
			},
			[]string{
				"- failure (unavailable)", "r1 starts", "r1 user: a", "r1 cancelled",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"a run is cancelled while the prompt is being sent", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Send, fake.HangForever)
				w.run(s, "a")
				cancel(w, s)
				wait(3 * time.Second)
				assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled"},
		},
		{
			"an agent that ignores it is released, and its late events do not reach the next run", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) {
					if len(t.Past) > 0 {
						t.Wait(time.Minute)
						fake.Echo(t)
						return
					}
					t.WaitIgnoringAbort(10 * time.Second)
					t.Say("I did it all the same")
				}
				w.prompt(s, "a")
				w.run(s, "b")
				cancel(w, s)
				wait(2*time.Second - 1)
				assert.Empty(w.t, of[event.RunEnded](w.t, s))
				wait(1)
				assert.Len(w.t, of[event.RunEnded](w.t, s), 1)
				wait(time.Minute)
				assert.True(w.t, w.agents.Calls(fake.Open)[1].Opening.Resume)
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "r2 starts", "r2 user: b", "r2 says: b", "r2 completed"},
		},
		{
			"an agent that does not answer is released", func(w *world, s *copilot.Session) {
				w.agents.Script = firstAborts
				w.agents.Before = fake.On(fake.Abort, fake.HangForever)
				w.prompt(s, "a")
				w.run(s, "b")
				cancel(w, s)
				wait(2 * time.Second)
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "r2 starts", "r2 user: b", "r2 says: b", "r2 completed"},
		},
		{
			"an agent that refuses is released at once", func(w *world, s *copilot.Session) {
				w.agents.Script = firstAborts
				w.agents.Before = fake.On(fake.Abort, func(context.Context, fake.Call) error { return errors.New("no") })
				w.prompt(s, "a")
				w.run(s, "b")
				cancel(w, s)
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "r2 starts", "r2 user: b", "r2 says: b", "r2 completed"},
		},
		{
			"a failed run that is cancelled ends as cancelled", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) {
					t.Emit(event.SessionError{Kind: fault.Internal, Text: "broken"})
					t.WaitForAbort()
				}
				w.run(s, "a")
				cancel(w, s)
			},
			[]string{"r1 starts", "r1 user: a", "r1 failure (internal)", "r1 cancelled"},
		},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.start()
			tt.do(w, s)
			assert.Equal(w.t, tt.want, story(w.t, s)[1:])
		})
	}
}

func TestCancelAtTheEnd(t *testing.T) {
	for range 300 { // the scheduler decides which comes first
		inBubble(t, func(w *world) {
			w.agents.Script = func(t *fake.Turn) {
				if len(t.Past) == 0 {
					t.WaitIgnoringAbort(time.Second)
				}
			}
			s := w.start()
			w.prompt(s, "a")
			w.prompt(s, "b")
			<-time.After(time.Second)
			require.NoError(w.t, s.Cancel(""))
			wait(time.Minute)
			assert.Len(w.t, of[event.RunEnded](w.t, s), 2)
			assert.Len(w.t, of[event.RunStarted](w.t, s), 2)
			assert.Empty(w.t, of[event.SessionError](w.t, s))
			assert.Equal(w.t, 1, w.agents.Count(fake.Open), "a quick agent is not released")
		})
	}
}

func TestCancelClosed(t *testing.T) {
	inWorld(t, "a closed session rejects it", copilot.Options{}, func(w *world) {
		s := w.start()
		s.Close()
		require.ErrorIs(w.t, s.Cancel(""), fault.ErrSessionClosed)
	})
}
