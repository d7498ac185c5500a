package fake_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// recorder is a sink that records events.
type recorder struct {
	mu       sync.Mutex
	received []string
}

func (e *recorder) sink(agent string, b event.Body) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch b := b.(type) {
	case event.Idle:
		e.received = append(e.received, fmt.Sprintf("idle %v", b.Aborted))
	case event.MessageDelta:
		e.received = append(e.received, "delta "+b.Text)
	case event.QuestionAsked:
		e.received = append(e.received, "asked "+b.Question.ID)
	case event.QuestionClosed:
		e.received = append(e.received, "over "+b.ID)
	default:
		e.received = append(e.received, fmt.Sprintf("%s%T", agent, b)[len("event."):])
	}
}

func (e *recorder) now() []string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	received := e.received
	e.received = nil
	return received
}

// stage is an agent with a conversation, in a bubble.
type stage struct {
	t            *testing.T
	agents       *fake.Agents
	agent        agent.Agent
	conversation agent.Conversation
	events       *recorder
}

// newStage returns a stage, whose agents must be closed.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, agents: fake.New()}
	var err error
	s.agent, err = s.agents.Launch(t.Context())
	require.NoError(t, err)
	s.conversation, s.events = s.open(agent.Opening{Session: "1", Model: "model-a"})
	return s
}

func (s *stage) open(o agent.Opening) (agent.Conversation, *recorder) {
	s.t.Helper()
	e := &recorder{}
	c, err := s.agent.Open(s.t.Context(), o, e.sink)
	require.NoError(s.t, err)
	return c, e
}

func (s *stage) send(prompt string) {
	s.t.Helper()
	require.NoError(s.t, s.conversation.Send(s.t.Context(), event.Prompt{Text: prompt}))
}

func TestAgents(t *testing.T) {
	background := context.Background()
	permission := event.Question{ID: "q", Names: []string{permission.Exec}}
	asks := func(t *fake.Turn) {
		if a, ok := t.Ask(permission); ok && a.Approved {
			t.Emit(event.MessageDelta{Text: "allowed"})
		}
	}
	tests := []struct {
		name string
		do   func(*stage)
	}{
		{"prompts are echoed by default", func(s *stage) {
			s.send("hello you")
			assert.Equal(s.t, []string{
				"TurnStarted", "MessageStarted", "delta hello ", "delta you", "MessageEnded", "TurnEnded", "idle false",
			}, s.events.now())
		}},
		{"a script says, thinks and calls tools", func(s *stage) {
			s.agents.Script = func(t *fake.Turn) {
				t.Think("a")
				t.Call("bash", "{}", "out")
				t.EmitAs("", event.Notice{})
			}
			s.send("a")
			assert.Equal(s.t, []string{
				"ReasoningStarted", "ReasoningDelta", "ReasoningEnded", "ToolStarted", "ToolOutput", "ToolEnded", "Notice", "idle false",
			}, s.events.now())
		}},
		{"a prompt during another is an error", func(s *stage) {
			s.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
			s.send("a")
			require.Error(s.t, s.conversation.Send(background, event.Prompt{Text: "b"}))
		}},
		{"an abort ends the script and makes the agent idle", func(s *stage) {
			s.agents.Script = func(t *fake.Turn) {
				t.WaitForAbort()
				t.Wait(time.Hour)
				t.Ask(permission)
				t.WaitIgnoringAbort(time.Second)
			}
			s.send("a")
			require.NoError(s.t, s.conversation.Abort(background))
			require.NoError(s.t, s.conversation.Abort(background))
			assert.Empty(s.t, s.events.now())
			time.Sleep(time.Second)
			assert.Equal(s.t, []string{"idle true"}, s.events.now())
		}},
		{"an answer reaches the script and closes the question", func(s *stage) {
			s.agents.Script = asks
			s.send("a")
			synctest.Wait()
			require.NoError(s.t, s.conversation.Answer(background, permission, event.Answer{Approved: true}))
			require.NoError(s.t, s.conversation.Answer(background, permission, event.Answer{}), "a second answer is not an error")
			assert.Equal(s.t, []string{"asked q", "over q", "delta allowed", "idle false"}, s.events.now())
		}},
		{"the user is asked only if allowed", func(s *stage) {
			s.agents.Script = func(t *fake.Turn) { t.Ask(event.Question{Kind: event.AskInput}) }
			s.send("a")
			assert.Equal(s.t, []string{"idle false"}, s.events.now())
			c, e := s.open(agent.Opening{Session: "2", AskUser: true})
			require.NoError(s.t, c.Send(background, event.Prompt{Text: "a"}))
			assert.Equal(s.t, []string{"asked question-1"}, e.now())
		}},
		{"no events come after Close", func(s *stage) {
			s.agents.Script = func(t *fake.Turn) {
				t.WaitForAbort()
				t.Say("late")
			}
			s.send("a")
			require.NoError(s.t, s.conversation.Close(background))
			s.agents.Emit("1", event.Notice{})
			assert.Empty(s.t, s.events.now())
		}},
		{"after a death no events come, calls fail, and Done is closed after the cleanup", func(s *stage) {
			s.agents.Dying = time.Second
			s.agents.Script = func(t *fake.Turn) {
				t.WaitForAbort()
				t.Say("late")
			}
			s.send("a")
			s.agents.Kill(2) // no such process
			s.agents.Kill()
			require.Error(s.t, s.conversation.Send(background, event.Prompt{Text: "b"}))
			require.Error(s.t, s.conversation.Abort(background))
			require.Error(s.t, s.conversation.SetModel(background, "x"))
			require.Error(s.t, s.conversation.Answer(background, permission, event.Answer{}))
			require.Error(s.t, s.conversation.Close(background))
			_, err := s.agent.Open(background, agent.Opening{}, nil)
			require.Error(s.t, err)
			_, err = s.agent.Models(background)
			require.Error(s.t, err)
			assert.Empty(s.t, s.events.now())
			assert.False(s.t, agent.IsClosed(s.agent.Done()))
			time.Sleep(time.Second)
			synctest.Wait()
			assert.True(s.t, agent.IsClosed(s.agent.Done()))
			assert.Zero(s.t, s.agents.Running())
		}},
		{"a waiting call fails when the process dies", func(s *stage) {
			s.agents.Before = fake.HangForever
			failed := make(chan error)
			go func() { failed <- s.conversation.Send(background, event.Prompt{Text: "a"}) }()
			synctest.Wait()
			s.agents.Kill()
			require.Error(s.t, <-failed)
		}},
		{"a call that waits fails when its context ends", func(s *stage) {
			ctx, cancel := context.WithTimeout(background, time.Second)
			defer cancel()
			s.agents.Before = func(context.Context, fake.Call) error {
				<-ctx.Done() // and returns no error
				return nil
			}
			require.ErrorIs(s.t, s.conversation.Send(ctx, event.Prompt{Text: "a"}), context.DeadlineExceeded)
		}},
		{"of two conversations of a session the later gets the events", func(s *stage) {
			_, later := s.open(agent.Opening{Session: "1", Resume: true})
			s.agents.Emit("1", event.Notice{})
			s.send("a")
			assert.Empty(s.t, s.events.now())
			assert.Equal(s.t, []string{"SessionError", "Notice"}, later.now(), "no conversation was saved")
		}},
		{"an Idle without a prompt is not sent after Send", func(s *stage) {
			s.agents.Emit("1", event.Idle{})
			s.agents.Script = func(t *fake.Turn) { t.Wait(time.Second) }
			s.agents.Before = func(_ context.Context, c fake.Call) error {
				c.Emit(event.Idle{}, event.Notice{})
				return nil
			}
			s.send("a")
			s.agents.Emit("1", event.Idle{})
			assert.Equal(s.t, []string{"idle false", "Notice"}, s.events.now())
		}},
		{"an agent that ignores Stop is killed in time", func(s *stage) {
			s.agents.Before = fake.HangForever
			ctx, cancel := context.WithTimeout(background, time.Second)
			defer cancel()
			began := time.Now()
			s.agent.Stop(ctx)
			assert.Equal(s.t, time.Second, time.Since(began))
			assert.True(s.t, agent.IsClosed(s.agent.Done()))
			s.agent.Stop(ctx)
		}},
		{"a failed launch is reported by the health", func(s *stage) {
			assert.Equal(s.t, agent.HealthReady, s.agents.Health().State)
			broken := errors.New("broken")
			s.agents.Before = func(context.Context, fake.Call) error { return broken }
			_, err := s.agents.Launch(background)
			require.ErrorIs(s.t, err, broken)
			assert.Equal(s.t, fault.Unavailable, fault.KindOf(err))
			assert.Equal(s.t, agent.HealthFailed, s.agents.Health().State)
		}},
		{"all calls are recorded", func(s *stage) {
			s.send("a")
			synctest.Wait()
			var got []fake.Method
			for _, c := range s.agents.Calls() {
				assert.Equal(s.t, 1, c.Process)
				got = append(got, c.Method)
			}
			assert.Equal(s.t, []fake.Method{fake.Launch, fake.Open, fake.Send}, got)
			sent := s.agents.Calls(fake.Send)
			require.Len(s.t, sent, 1)
			assert.Equal(s.t, "a", sent[0].Prompt)
			assert.Equal(s.t, "1", sent[0].Session)
			assert.Equal(s.t, 1, s.agents.Count(fake.Open))
			sent[0].Emit(event.Notice{})
			fake.Call{}.Emit(event.Notice{})
			assert.True(s.t, slices.Contains(s.events.now(), "Notice"))
		}},
		{"a forgotten Idle leaves the agent idle without an event", func(s *stage) {
			s.agents.Script = func(t *fake.Turn) {
				t.Wait(time.Second)
				t.Forget()
			}
			s.send("a")
			for _, want := range []bool{true, false} {
				working, err := s.conversation.Working(background)
				require.NoError(s.t, err)
				assert.Equal(s.t, want, working)
				<-time.After(2 * time.Second)
			}
			assert.NotContains(s.t, s.events.now(), "Idle")
		}},
		{"a halted process answers nothing until it is resumed", func(s *stage) {
			brief := func() context.Context {
				ctx, cancel := context.WithTimeout(background, time.Second)
				s.t.Cleanup(cancel)
				return ctx
			}
			require.NoError(s.t, s.agent.Ping(brief()))
			s.agents.Hang(1)
			require.Error(s.t, s.agent.Ping(brief()))
			require.ErrorIs(s.t, s.conversation.Abort(brief()), context.DeadlineExceeded)
			s.agents.HaltBusy(1)
			assert.Equal(s.t, fault.Busy, fault.KindOf(s.agent.Ping(brief())))
			s.agents.Resume(1)
			require.NoError(s.t, s.agent.Ping(brief()))
			s.agents.Hang(1)
			s.agent.Stop(brief())
			assert.True(s.t, agent.IsClosed(s.agent.Done()))
		}},
		{"memory and background commands are as set", func(s *stage) {
			assert.Zero(s.t, s.agent.Memory())
			s.agents.SetMemory(func(process int) int64 { return int64(process) * 7 })
			assert.Equal(s.t, int64(7), s.agent.Memory())
			for _, want := range []bool{false, true} {
				running, err := s.conversation.Background(background)
				require.NoError(s.t, err)
				assert.Equal(s.t, want, running)
				s.agents.SetBackground(func(session string) bool { return session == "1" })
			}
		}},
		{"closed agents do not start", func(s *stage) {
			s.agents.Close()
			_, err := s.agents.Launch(background)
			require.Error(s.t, err)
		}},
		{"a host can use them", func(s *stage) {
			h := s.agents.NewHost(copilot.Options{})
			defer h.Close(background)
			models, err := h.Models(background)
			require.NoError(s.t, err)
			assert.Equal(s.t, s.agents.Models, models)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				defer s.agents.Close()
				tt.do(s)
			})
		})
	}
}
