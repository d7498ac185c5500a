package copilot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestRun(t *testing.T) {
	fails := func(t *fake.Turn) {
		t.Emit(event.SessionError{Kind: fault.Unavailable, Text: "no quota"})
	}
	tests := []struct {
		name    string
		script  func(*fake.Turn)
		prompts []string
		want    []string // after the opening
	}{
		{
			"a prompt is answered", nil,
			[]string{"hello you"},
			[]string{"r1 starts", "r1 user: hello you", "r1 says: hello you", "r1 completed"},
		},
		{
			"prompts are answered in order", nil,
			[]string{"a", "b", "c"},
			[]string{
				"r1 starts", "r1 user: a", "r1 says: a", "r1 completed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
				"r3 starts", "r3 user: c", "r3 says: c", "r3 completed",
			},
		},
		{
			"a failure that the agent reports fails the run", fails,
			[]string{"a"},
			[]string{"r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed"},
		},
		{
			"a failure fails one run and not the next",
			func(t *fake.Turn) {
				if t.Prompt == "a" {
					fails(t)
				}
			},
			[]string{"a", "b"},
			[]string{
				"r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 completed",
			},
		},
		{
			"an agent that stops on its own cancels the run",
			func(t *fake.Turn) { t.Emit(event.Idle{Aborted: true}) },
			[]string{"a"},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled"},
		},
		{
			"unknown events are notices",
			func(t *fake.Turn) { t.Emit(event.Notice{Kind: "x", Raw: json.RawMessage("{}")}) },
			[]string{"a"},
			[]string{"r1 starts", "r1 user: a", "r1 notice x", "r1 completed"},
		},
		{
			"a title is recorded",
			func(t *fake.Turn) { t.Emit(event.TitleChanged{Title: "Letters"}) },
			[]string{"a"},
			[]string{"r1 starts", "r1 user: a", "r1 title Letters", "r1 completed"},
		},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			w.agents.Script = tt.script
			s := w.start()
			for _, p := range tt.prompts {
				w.prompt(s, p)
			}
			synctest.Wait()
			assert.Equal(w.t, append([]string{"- opened with model-a"}, tt.want...), story(w.t, s))
			assert.Equal(w.t, copilot.StateIdle, s.Info().State)
		})
	}
}

func TestRunDetails(t *testing.T) {
	tests := []struct {
		name string
		do   func(*world)
	}{
		{"every event of a run carries its id", func(w *world) {
			s := w.start()
			id := w.prompt(s, "hello you")
			synctest.Wait()
			require.NoError(w.t, uuid.Validate(id))
			all := events(w.t, s)
			require.Len(w.t, all, 10)
			for _, e := range all[1:] {
				assert.Equal(w.t, id, e.Run)
				assert.Empty(w.t, e.Agent)
				assert.False(w.t, e.Time.IsZero())
			}
		}},
		{"events of a sub-agent carry its name", func(w *world) {
			w.agents.Script = func(t *fake.Turn) {
				t.EmitAs("helper", event.MessageEnded{ID: "m", Text: "I did it"})
			}
			s := w.start()
			w.run(s, "a")
			all := events(w.t, s)
			assert.Equal(w.t, "helper", all[3].Agent)
			assert.Equal(w.t, event.MessageEnded{ID: "m", Text: "I did it"}, all[3].Body)
		}},
		{"the run is in the record as soon as the prompt is accepted", func(w *world) {
			w.agents.Script = func(t *fake.Turn) { t.Wait(time.Second) }
			s := w.start()
			w.prompt(s, "a")
			assert.Equal(w.t, copilot.StateRunning, s.Info().State)
			w.agents.Close()
		}},
		{"the failure is the text of the run's end", func(w *world) {
			w.agents.Script = func(t *fake.Turn) {
				t.Emit(event.SessionError{Text: "first"}, event.SessionError{Text: "last"})
			}
			s := w.start()
			w.run(s, "a")
			assert.Equal(w.t, []event.RunEnded{{Outcome: event.Failed, Text: "last"}}, of[event.RunEnded](w.t, s))
		}},
		{"a blank prompt is rejected", func(w *world) {
			s := w.start()
			for _, text := range []string{"", " ", "\n\t\r "} {
				_, err := s.Prompt(event.Prompt{Text: text})
				require.ErrorIs(w.t, err, fault.ErrEmptyPrompt)
			}
			synctest.Wait()
			assert.Equal(w.t, []string{"- opened with model-a"}, story(w.t, s))
		}},
		{"a prompt reaches the agent unchanged", func(w *world) {
			s := w.start()
			w.run(s, "  two\n lines\x00 \xff")
			assert.Equal(w.t, "  two\n lines\x00 \xff", w.agents.Calls(fake.Send)[0].Prompt)
		}},
		{"a hundred prompts may wait, and one more is rejected", func(w *world) {
			w.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
			s := w.start()
			w.prompt(s, "runs")
			for i := range 100 {
				w.prompt(s, fmt.Sprint(i))
			}
			_, err := s.Prompt(event.Prompt{Text: "too many"})
			assert.Equal(w.t, fault.Busy, fault.KindOf(err))
			synctest.Wait()
			require.NoError(w.t, s.Cancel(""))
			synctest.Wait()
			w.prompt(s, "there is room again")
		}},
		{"a run without a text completes", func(w *world) {
			w.agents.Script = func(*fake.Turn) {}
			s := w.start()
			w.run(s, "a")
			assert.Equal(w.t, []event.RunEnded{{Outcome: event.Completed}}, of[event.RunEnded](w.t, s))
		}},
		{"a run may take long", func(w *world) {
			w.agents.Script = func(t *fake.Turn) {
				assert.True(w.t, t.Wait(24*time.Hour))
				t.Say("at last")
			}
			s := w.start()
			w.run(s, "a")
			wait(24*time.Hour - 1)
			assert.Equal(w.t, copilot.StateRunning, s.Info().State)
			wait(1)
			assert.Equal(w.t, []event.RunEnded{{Outcome: event.Completed}}, of[event.RunEnded](w.t, s))
		}},
		{"events that the agent sends on its own belong to no run", func(w *world) {
			s := w.start()
			w.agents.Emit(s.ID(), event.MessageEnded{ID: "m", Text: "the build is done"}, event.Idle{})
			w.run(s, "a")
			assert.Equal(w.t, []string{
				"- opened with model-a", "- says: the build is done",
				"r1 starts", "r1 user: a", "r1 says: a", "r1 completed",
			}, story(w.t, s))
		}},
		{"a failure between runs fails no run", func(w *world) {
			s := w.start()
			w.agents.Emit(s.ID(), event.SessionError{Text: "broken", Kind: fault.Internal})
			w.run(s, "a")
			assert.Equal(w.t, []string{
				"- opened with model-a", "- failure (internal)",
				"r1 starts", "r1 user: a", "r1 says: a", "r1 completed",
			}, story(w.t, s))
		}},
		{"an idle agent before the prompt does not end the run", func(w *world) {
			s := w.start()
			w.loseProcess()
			w.agents.Before = fake.On(fake.Open, func(_ context.Context, c fake.Call) error {
				c.Emit(event.Idle{})
				return nil
			})
			w.run(s, "a")
			assert.Equal(w.t, []string{
				"- opened with model-a", "- failure (unavailable)", "r1 starts", "r1 user: a", "r1 says: a", "r1 completed",
			}, story(w.t, s))
		}},
		{"an idle agent while the prompt is being sent does not end the run", func(w *world) {
			s := w.start()
			w.agents.Before = fake.On(fake.Send, func(_ context.Context, c fake.Call) error {
				c.Emit(event.Idle{})
				return nil
			})
			w.run(s, "a")
			assert.Equal(w.t, []string{
				"- opened with model-a", "r1 starts", "r1 user: a", "r1 says: a", "r1 completed",
			}, story(w.t, s))
		}},
		{"a prompt that the agent rejects fails its run", func(w *world) {
			s := w.start()
			w.agents.Before = fake.On(fake.Send, func(_ context.Context, c fake.Call) error {
				if c.Prompt == "a" {
					return fault.Errorf(fault.Invalid, "I will not")
				}
				return nil
			})
			w.prompt(s, "a")
			w.prompt(s, "b")
			wait(time.Minute)
			assert.Equal(w.t, []string{
				"- opened with model-a", "r1 starts", "r1 user: a", "r1 failure (invalid)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			}, story(w.t, s))
		}},
		{"an agent that does not accept the prompt in time fails the run and is released", func(w *world) {
			s := w.start()
			w.agents.Before = fake.On(fake.Send, func(ctx context.Context, c fake.Call) error {
				if c.Prompt != "a" {
					return nil
				}
				go func() { // it accepted the prompt after all
					<-time.After(29 * time.Second)
					c.Emit(event.MessageEnded{Text: "early"})
					<-time.After(time.Minute)
					c.Emit(event.MessageEnded{Text: "late"}, event.Idle{})
				}()
				return fake.HangForever(ctx, c)
			})
			w.agents.Script = func(t *fake.Turn) { t.Wait(5 * time.Minute) }
			w.prompt(s, "a")
			w.prompt(s, "b")
			wait(10 * time.Minute)
			assert.Equal(w.t, "the agent did not accept the prompt in time; send it again", of[event.RunEnded](w.t, s)[0].Text)
			assert.Equal(w.t, []string{
				"- opened with model-a", "r1 starts", "r1 user: a", "r1 says: early", "r1 failure (timeout)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 completed",
			}, story(w.t, s))
		}},
		{"an agent that cannot open the conversation fails the run", func(w *world) {
			s := w.start()
			w.agents.Kill()
			synctest.Wait()
			w.agents.Before = fake.On(fake.Open, fake.HangForever)
			w.prompt(s, "a")
			wait(time.Hour)
			assert.Equal(w.t, []string{
				"- opened with model-a", "- failure (unavailable)",
				"r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed",
			}, story(w.t, s))
		}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, tt.do)
	}
}

func TestState(t *testing.T) {
	inWorld(t, "a session is idle, running, waiting, running, idle and closed", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			t.Wait(time.Second)
			t.Ask(event.Question{Kind: event.AskInput, Text: "Which?", Freeform: true})
			t.Wait(time.Second)
		}
		s := w.start()
		state := func() copilot.State { return s.Info().State }
		assert.Equal(w.t, copilot.StateIdle, state())
		w.run(s, "a")
		assert.Equal(w.t, copilot.StateRunning, state())
		wait(time.Second)
		assert.Equal(w.t, copilot.StateWaiting, state())
		require.NoError(w.t, s.Answer("question-1", event.Answer{Text: "this"}, "test"))
		assert.Equal(w.t, copilot.StateRunning, state())
		wait(time.Second)
		assert.Equal(w.t, copilot.StateIdle, state())
		s.Close()
		assert.Equal(w.t, copilot.StateClosed, state())
	})
	inWorld(t, "the properties of a session are listed", copilot.Options{Model: "model-b"}, func(w *world) {
		began := time.Now()
		s := w.start()
		w.agents.Emit(s.ID(), event.TitleChanged{Title: "Letters"}, event.UsageChanged{Used: 1, Limit: 2})
		require.NoError(w.t, uuid.Validate(s.ID()))
		assert.Equal(w.t, copilot.Info{
			ID: s.ID(), Origin: "test", Title: "Letters", Model: "model-b", Directory: w.directory,
			State: copilot.StateIdle, Created: began, Changed: began, Usage: copilot.Usage{Used: 1, Limit: 2, Multiplier: 0.25},
		}, s.Info())
		assert.Equal(w.t, []copilot.Info{s.Info()}, w.listed())
		assert.Equal(w.t, []event.UsageChanged{{Used: 1, Limit: 2, Multiplier: 0.25}}, of[event.UsageChanged](w.t, s))
	})
}
