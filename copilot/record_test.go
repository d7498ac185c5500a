package copilot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
)

func TestRecord(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 300))
	tests := []struct {
		name    string
		options copilot.Options
		do      func(*world)
	}{
		{"deltas stay for a minute after their run, then their ends supersede them", copilot.Options{}, func(w *world) {
			w.agents.Script = func(t *fake.Turn) {
				t.Think("of a b c")
				t.Say("a b c")
				t.Call("bash", `{"command":"ls"}`, "out")
				t.Emit(event.MessageDelta{ID: "open", Text: "never ended"})
			}
			s := w.start()
			w.run(s, "a")
			wait(time.Minute - time.Nanosecond)
			assert.Len(w.t, of[event.MessageDelta](w.t, s), 4)
			assert.Len(w.t, of[event.ReasoningDelta](w.t, s), 4)
			assert.Len(w.t, of[event.ToolOutput](w.t, s), 1)
			wait(time.Nanosecond)
			assert.Empty(w.t, of[event.MessageDelta](w.t, s))
			assert.Empty(w.t, of[event.ReasoningDelta](w.t, s))
			assert.Empty(w.t, of[event.ToolOutput](w.t, s))
			assert.Len(w.t, of[event.MessageEnded](w.t, s), 2)
		}},
		{"the deltas of the next run are not dropped with those of the last", copilot.Options{}, func(w *world) {
			s := w.start()
			w.run(s, "a b")
			wait(30 * time.Second)
			w.run(s, "c d e")
			wait(30 * time.Second)
			assert.Equal(w.t, []event.MessageDelta{
				{ID: "message-2", Text: "c "},
				{ID: "message-2", Text: "d "},
				{ID: "message-2", Text: "e"},
			}, of[event.MessageDelta](w.t, s))
			wait(30 * time.Second)
			assert.Empty(w.t, of[event.MessageDelta](w.t, s))
		}},
		{"deltas are dropped early when there is no room", copilot.Options{RecordBudget: 150_000}, func(w *world) {
			s := w.start()
			for range 5 {
				w.run(s, long)
			}
			deltas := len(of[event.MessageDelta](w.t, s))
			assert.Less(w.t, deltas, 2*300)
			assert.GreaterOrEqual(w.t, deltas, 300)
			assert.Len(w.t, of[event.MessageEnded](w.t, s), 5)
			assert.Equal(w.t, "- opened with model-a", story(w.t, s)[0], "nothing else was dropped")
		}},
		{"a slow reader gets a gap and can continue", copilot.Options{RecordBudget: 20_000}, func(w *world) {
			s := w.start()
			for range 100 {
				w.run(s, "a")
			}
			_, err := s.Record().Next(w.t.Context(), 1, 0)
			var gap *journal.GapError
			require.ErrorAs(w.t, err, &gap)
			some, err := s.Record().Next(w.t.Context(), gap.First-1, 1)
			require.NoError(w.t, err)
			assert.Equal(w.t, gap.First, some[0].N)
		}},
		{"a reader that keeps up loses nothing, however small the budget", copilot.Options{RecordBudget: 10_000}, func(w *world) {
			w.agents.Script = func(t *fake.Turn) {
				for i := range 1000 {
					t.Emit(event.MessageDelta{ID: "m", Text: fmt.Sprint(i)})
					t.Wait(time.Millisecond)
				}
			}
			s := w.start()
			var deltas int
			done := make(chan struct{})
			go func() {
				defer close(done)
				for after := uint64(0); ; {
					some, err := s.Record().Next(context.Background(), after, 0)
					if errors.Is(err, io.EOF) {
						return
					}
					if !assert.NoError(w.t, err) {
						return
					}
					for _, e := range some {
						if _, ok := e.Value.Body.(event.MessageDelta); ok {
							deltas++
						}
						after = e.N
					}
				}
			}()
			w.run(s, "a")
			wait(time.Minute)
			s.Close()
			<-done
			assert.Equal(w.t, 1000, deltas)
		}},
		{"readers end when the session closes", copilot.Options{}, func(w *world) {
			s := w.start()
			ended := make(chan error)
			go func() {
				_, err := s.Record().Next(context.Background(), s.Record().Last()+1, 0)
				ended <- err
			}()
			synctest.Wait()
			s.Close()
			require.ErrorIs(w.t, <-ended, io.EOF)
		}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, tt.options, tt.do)
	}
}

// The content of an event counts, so that a large one evicts others.
func TestRecordCost(t *testing.T) {
	big := strings.Repeat("x", 10_000)
	tests := map[string]event.Body{
		"a notice":            event.Notice{Raw: json.RawMessage(big)},
		"a failure":           event.SessionError{Text: big},
		"a thought":           event.ReasoningEnded{Text: big},
		"a part of a thought": event.ReasoningDelta{Text: big},
		"a message":           event.MessageEnded{Text: big},
		"a part of a message": event.MessageDelta{Text: big},
		"a tool call":         event.ToolStarted{Arguments: json.RawMessage(big)},
		"output of a tool":    event.ToolOutput{Text: big},
		"a result":            event.ToolEnded{Result: &event.ToolResult{Content: big[:5000], Detail: big[:5000]}},
		"an error of a tool":  event.ToolEnded{Error: &event.ToolError{Text: big}},
		"a question":          event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskInput, Text: big[:5000], Choices: []string{big[:5000]}}},
		"a choice of a form":  event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskForm, Form: &event.Form{Fields: []event.Field{{Choices: []event.Choice{{Value: big}}}}}}},
		"a field of a form":   event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskForm, Form: &event.Form{Fields: []event.Field{{Detail: big}}}}},
		"a default of a form": event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskForm, Form: &event.Form{Fields: []event.Field{{Default: []string{big}}}}}},
		"a call of a tool":    event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskTool, Arguments: json.RawMessage(big)}},
		"a plan":              event.PlanChanged{Text: big[:5000], Todos: []event.Todo{{Detail: big[:5000]}}},
		"a summary":           event.CompactionEnded{Summary: big},
		"a failed sub-agent":  event.SubagentEnded{Error: big},
	}
	for name, body := range tests {
		inWorld(t, name+" costs as much as its content", copilot.Options{RecordBudget: 8_000}, func(w *world) {
			s := w.start()
			w.agents.Emit(s.ID(), body)
			_, ok := read(w.t, s)
			assert.False(w.t, ok, "it evicts earlier entries")
		})
	}
	inWorld(t, "an answer costs as much as its content", copilot.Options{RecordBudget: 8_000}, func(w *world) {
		w.asks(event.Question{ID: "q", Kind: event.AskInput, Freeform: true})
		s := w.start()
		w.run(s, "a")
		require.NoError(w.t, s.Answer("q", event.Answer{Text: big}, "test"))
		_, ok := read(w.t, s)
		assert.False(w.t, ok)
	})
	for name, value := range map[string]any{"a text": big, "a list": []string{big[:5000], big[:5000]}} {
		inWorld(t, "a form filled in with "+name+" costs as much as its content", copilot.Options{RecordBudget: 8_000}, func(w *world) {
			w.asks(event.Question{ID: "q", Kind: event.AskForm})
			s := w.start()
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", event.Answer{Approved: true, Fields: map[string]any{"x": value}}, "test"))
			_, ok := read(w.t, s)
			assert.False(w.t, ok)
		})
	}
	inWorld(t, "an attachment costs as much as its content", copilot.Options{RecordBudget: 8_000}, func(w *world) {
		s := w.start()
		_, err := s.Prompt(event.Prompt{Text: "a", Attachments: []event.Attachment{{Data: []byte(big), Type: "image/png"}}})
		require.NoError(w.t, err)
		synctest.Wait()
		_, ok := read(w.t, s)
		assert.False(w.t, ok)
	})
	inWorld(t, "a prompt and the reason of a failure cost as much as their content", copilot.Options{RecordBudget: 8_000}, func(w *world) {
		s := w.start()
		w.run(s, big)
		_, ok := read(w.t, s)
		assert.False(w.t, ok)
	})
}

func TestErrors(t *testing.T) {
	cause := errors.New("cause")
	tests := []struct {
		name string
		err  error
		kind fault.Kind
		text string
	}{
		{"an error has its kind and text", fault.Errorf(fault.Busy, "%d wait", 3), fault.Busy, "3 wait"},
		{"a cause can be unwrapped", fault.Errorf(fault.Denied, "no: %w", cause), fault.Denied, "no: cause"},
		{"a wrapped error keeps its kind", fmt.Errorf("more: %w", fault.ErrSessionNotFound), fault.NotFound, "more: no such session"},
		{"the outermost kind counts", fault.Errorf(fault.Invalid, "%w", fault.ErrSessionNotFound), fault.Invalid, "no such session"},
		{"an expired context is a timeout", fmt.Errorf("x: %w", context.DeadlineExceeded), fault.Timeout, "x: context deadline exceeded"},
		{"any other error is internal", cause, fault.Internal, "cause"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.kind, fault.KindOf(tt.err))
			assert.EqualError(t, tt.err, tt.text)
		})
	}
	require.ErrorIs(t, fault.Errorf(fault.Denied, "no: %w", cause), cause)
}
