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

// kills returns a Before that kills the process at a call of a method.
func (w *world) kills(m fake.Method) func(context.Context, fake.Call) error {
	return fake.On(m, func(_ context.Context, c fake.Call) error {
		w.agents.Kill(c.Process)
		return nil
	})
}

func TestDeath(t *testing.T) {
	tests := []struct {
		name string
		do   func(w *world, s *copilot.Session)
		want []string // after the opening
	}{
		{
			"a death between runs is recorded, and the session is idle again", func(w *world, s *copilot.Session) {
				w.loseProcess()
				assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			},
			[]string{"- failure (unavailable)"},
		},
		{
			"the next prompt resumes the conversation on a new process", func(w *world, s *copilot.Session) {
				w.run(s, "a")
				w.loseProcess()
				w.agents.Script = func(t *fake.Turn) {
					assert.Equal(w.t, []string{"a"}, t.Past)
					fake.Echo(t)
				}
				w.run(s, "b")
				opened := w.agents.Calls(fake.Open)
				require.Len(w.t, opened, 2)
				assert.Equal(w.t, 2, opened[1].Process)
				want := opened[0].Opening
				want.Resume = true
				assert.Equal(w.t, want, opened[1].Opening)
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 says: a", "r1 completed", "- failure (unavailable)",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"a death during a run fails it", func(w *world, s *copilot.Session) {
				w.agents.Script = untilAborted
				w.run(s, "a")
				w.agents.Kill()
				synctest.Wait()
				w.agents.Script = nil
				w.run(s, "b")
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 says: I begin", "r1 failure (unavailable)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"queued prompts continue", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) {
					if t.Prompt == "a" {
						t.Kill()
						return
					}
					fake.Echo(t)
				}
				w.prompt(s, "a")
				w.run(s, "b")
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"a death withdraws the question of a run", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) { t.Ask(event.Question{Names: []string{permission.Write}}) }
				w.run(s, "a")
				w.agents.Kill()
				synctest.Wait()
				assert.ErrorIs(w.t, s.Answer("question-1", event.Answer{}, "test"), fault.ErrAlreadyAnswered)
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 asks question-1", "r1 question-1 is cancelled", "r1 failure (unavailable)", "r1 failed",
			},
		},
		{
			"a death withdraws a question between runs", func(w *world, s *copilot.Session) {
				q := event.Question{ID: "q", Kind: event.AskPermission, Names: []string{permission.Write}}
				w.agents.Emit(s.ID(), event.QuestionAsked{Question: q})
				assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
				w.loseProcess()
				assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			},
			[]string{"- asks q", "- q is cancelled", "- failure (unavailable)"},
		},
		{
			"a death while the conversation opens fails the run", func(w *world, s *copilot.Session) {
				w.loseProcess()
				w.agents.Before = w.kills(fake.Open)
				w.run(s, "a")
				wait(time.Second)
				w.agents.Before = nil
				w.run(s, "b")
			},
			[]string{
				"- failure (unavailable)", "r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"a death while the prompt is being sent fails the run", func(w *world, s *copilot.Session) {
				w.agents.Dying = 300 * time.Millisecond
				w.agents.Before = w.kills(fake.Send)
				w.run(s, "a")
				wait(time.Second)
				w.agents.Before = nil
				w.run(s, "b")
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"a death while a run is being aborted ends it as cancelled", func(w *world, s *copilot.Session) {
				w.agents.Script = untilAborted
				w.agents.Before = w.kills(fake.Abort)
				w.run(s, "a")
				require.NoError(w.t, s.Cancel(""))
				wait(time.Minute)
			},
			[]string{"r1 starts", "r1 user: a", "r1 says: I begin", "r1 cancelled"},
		},
		{
			"an answer to a dying process is not a separate failure", func(w *world, s *copilot.Session) {
				w.agents.Dying = 300 * time.Millisecond
				w.agents.Before = w.kills(fake.Answer)
				w.agents.Script = func(t *fake.Turn) { t.Ask(event.Question{Names: []string{permission.Write}}) }
				w.run(s, "a")
				require.NoError(w.t, s.Answer("question-1", event.Answer{Approved: true}, "test"))
				wait(time.Minute)
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 asks question-1", "r1 question-1 is answered", "r1 failure (unavailable)", "r1 failed",
			},
		},
		{
			"a process that cannot be started again fails the run, and the next tries again", func(w *world, s *copilot.Session) {
				w.loseProcess()
				w.agents.Before = fake.On(fake.Launch, func(_ context.Context, c fake.Call) error {
					if c.Process == 2 {
						return errors.New("no memory")
					}
					return nil
				})
				w.prompt(s, "a")
				w.run(s, "b")
				assert.Contains(w.t, of[event.RunEnded](w.t, s)[0].Text, "no memory")
			},
			[]string{
				"- failure (unavailable)", "r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"a start that hangs fails the run", func(w *world, s *copilot.Session) {
				w.loseProcess()
				w.agents.Before = fake.On(fake.Launch, fake.HangForever)
				w.prompt(s, "a")
				wait(30 * time.Second)
			},
			[]string{"- failure (unavailable)", "r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed"},
		},
		{
			"the conversation is resumed with the model in use", func(w *world, s *copilot.Session) {
				require.NoError(w.t, s.SetModel(w.t.Context(), "model-b"))
				w.loseProcess()
				w.run(s, "a")
				assert.Equal(w.t, "model-b", w.agents.Calls(fake.Open)[1].Opening.Model)
			},
			[]string{
				"- model model-b", "- failure (unavailable)", "r1 starts", "r1 user: a", "r1 says: a", "r1 completed",
			},
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

// The session receives a death and a prompt at the same time, so it may process
// the prompt first.
func TestPromptDuringDeath(t *testing.T) {
	for range 100 {
		inBubble(t, func(w *world) {
			s := w.start()
			w.agents.Kill()
			w.prompt(s, "a")
			wait(time.Minute)
			ends := of[event.RunEnded](w.t, s)
			require.Len(w.t, ends, 1)
			failures := of[event.SessionError](w.t, s)
			require.Len(w.t, failures, 1, "a death is reported once")
			if ends[0].Outcome == event.Completed {
				return
			}
			assert.Equal(w.t, event.Failed, ends[0].Outcome) // it was sent to the dying process
			assert.Equal(w.t, failures[0].Text, ends[0].Text)
			assert.Equal(w.t, 1, w.agents.Count(fake.Launch))
		})
	}
	for range 100 {
		inBubble(t, func(w *world) {
			s := w.start()
			w.agents.Kill()
			w.awaitDeath()
			w.prompt(s, "a")
			wait(time.Minute)
			assert.Equal(w.t, []event.RunEnded{{Outcome: event.Completed}}, of[event.RunEnded](w.t, s))
			assert.Len(w.t, of[event.SessionError](w.t, s), 1)
		})
	}
}

func TestDeathOfMany(t *testing.T) {
	inWorld(t, "all sessions of a dead process continue on a new one", copilot.Options{}, func(w *world) {
		w.agents.Dying = 100 * time.Millisecond
		w.agents.Script = func(t *fake.Turn) {
			if t.Prompt == "stays" {
				t.WaitForAbort()
			}
		}
		var all []*copilot.Session
		for range 20 {
			all = append(all, w.start())
		}
		for _, s := range all[:10] {
			w.prompt(s, "stays")
		}
		synctest.Wait()
		w.agents.Kill()
		wait(time.Second)
		for i, s := range all {
			assert.Len(w.t, of[event.SessionError](w.t, s), 1)
			assert.Equal(w.t, i < 10, len(of[event.RunEnded](w.t, s)) == 1)
			w.prompt(s, "again")
		}
		wait(time.Second)
		for _, s := range all {
			ends := of[event.RunEnded](w.t, s)
			assert.Equal(w.t, event.Completed, ends[len(ends)-1].Outcome)
		}
		assert.Equal(w.t, 2, w.agents.Count(fake.Launch))
	})
	inWorld(t, "a death during a start is its error", copilot.Options{}, func(w *world) {
		w.agents.Before = w.kills(fake.Open)
		_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
		assert.Equal(w.t, fault.Unavailable, fault.KindOf(err))
		assert.Empty(w.t, w.listed())
		w.agents.Before = nil
		w.start()
	})
	for _, method := range []fake.Method{fake.Models, fake.Open} {
		inWorld(t, "a start on a process that is being killed uses another one", copilot.Options{}, func(w *world) {
			w.start()
			w.agents.Before = fake.On(method, func(_ context.Context, c fake.Call) error {
				if c.Process == 1 {
					w.agents.Kill(1)
				}
				return nil
			})
			w.run(w.start(), "a")
			assert.Equal(w.t, 2, w.agents.Count(fake.Launch))
		})
	}
	inWorld(t, "a start that the agent rejects is not repeated", copilot.Options{}, func(w *world) {
		w.agents.Before = fake.On(fake.Open, func(context.Context, fake.Call) error { return errors.New("broken") })
		_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
		require.ErrorContains(w.t, err, "broken")
		assert.Equal(w.t, 1, w.agents.Count(fake.Open))
	})
	inWorld(t, "deaths lose no lease", copilot.Options{}, func(w *world) {
		s := w.start()
		for range 5 {
			w.run(s, "a")
			w.loseProcess()
		}
		w.agents.Before = w.kills(fake.Open)
		w.run(s, "a")
		wait(time.Second)
		w.agents.Before = w.kills(fake.Send)
		w.run(s, "a")
		wait(time.Second)
		w.agents.Before = nil
		w.run(s, "a")
		assert.Equal(w.t, 1, w.agents.Running())
		s.Close()
		wait(10 * time.Second)
		assert.Zero(w.t, w.agents.Running(), "a lease is still held")
	})
}

func TestEventsWhileOpeningAreKept(t *testing.T) {
	asks := func(id string) event.Body {
		q := event.Question{ID: id, Kind: event.AskPermission, Names: []string{permission.Write}}
		return event.QuestionAsked{Question: q}
	}
	titled := fake.On(fake.Open, func(_ context.Context, c fake.Call) error {
		c.Emit(event.TitleChanged{Title: "Letters"})
		return nil
	})
	tests := []struct {
		name string
		do   func(w *world) *copilot.Session
		want []string
	}{
		{
			"events of a new session that is being opened follow its opening", func(w *world) *copilot.Session {
				w.agents.Before = titled
				return w.start()
			},
			[]string{"- opened with model-a", "- title Letters"},
		},
		{
			"events of a reopened session follow its opening", func(w *world) *copilot.Session {
				s := w.start()
				s.Close()
				w.agents.Before = titled
				require.NoError(w.t, s.Reopen(w.t.Context()))
				assert.Equal(w.t, "Letters", s.Info().Title)
				return s
			},
			[]string{"- opened with model-a", "- closed", "- opened with model-a", "- title Letters"},
		},
		{
			"events of a session whose process died belong to the run that opens it", func(w *world) *copilot.Session {
				s := w.start()
				w.loseProcess()
				w.agents.Before = titled
				w.run(s, "a")
				return s
			},
			[]string{
				"- opened with model-a", "- failure (unavailable)",
				"r1 starts", "r1 user: a", "r1 title Letters", "r1 says: a", "r1 completed",
			},
		},
		{
			"events of a failed opening are dropped", func(w *world) *copilot.Session {
				s := w.start()
				s.Close()
				w.agents.Before = fake.On(fake.Open, func(_ context.Context, c fake.Call) error {
					c.Emit(event.TitleChanged{Title: "Letters"})
					return errors.New("broken")
				})
				require.Error(w.t, s.Reopen(w.t.Context()))
				w.agents.Before = nil
				require.NoError(w.t, s.Reopen(w.t.Context()))
				return s
			},
			[]string{"- opened with model-a", "- closed", "- opened with model-a"},
		},
		{
			"a question during opening can be answered", func(w *world) *copilot.Session {
				w.agents.Before = fake.On(fake.Open, func(_ context.Context, c fake.Call) error {
					c.Emit(asks("q"))
					return nil
				})
				s := w.start()
				require.NoError(w.t, s.Answer("q", event.Answer{Approved: true}, "test"))
				synctest.Wait()
				assert.Equal(w.t, 1, w.agents.Count(fake.Answer))
				return s
			},
			[]string{"- opened with model-a", "- asks q", "- q is answered"},
		},
		{
			"the policy answers a question during opening", func(w *world) *copilot.Session {
				w.agents.Before = fake.On(fake.Open, func(_ context.Context, c fake.Call) error {
					c.Emit(asks("q"))
					return nil
				})
				s := w.startWith(permission.Everywhere(permission.Allow))
				synctest.Wait()
				require.Equal(w.t, 1, w.agents.Count(fake.Answer))
				assert.True(w.t, w.agents.Calls(fake.Answer)[0].Answer.Approved)
				return s
			},
			[]string{"- opened with model-a"},
		},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			assert.Equal(w.t, tt.want, story(w.t, tt.do(w)))
		})
	}
}

func TestConversationsOfDeadProcessAreClosed(t *testing.T) {
	inWorld(t, "a driver holds memory for each conversation until it is closed", copilot.Options{}, func(w *world) {
		for range 3 {
			w.start()
		}
		assert.Equal(w.t, 3, w.agents.Held())
		w.agents.Kill()
		wait(time.Second)
		assert.Zero(w.t, w.agents.Held())
	})
}
