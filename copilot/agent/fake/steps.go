package fake

import (
	"github.com/copilot-portal/portal/copilot/event"
)

// Steps is a script that a test executes step by step. Create it with [NewSteps].
type Steps struct {
	steps chan func(*Turn)
}

// NewSteps returns a script without steps.
func NewSteps() *Steps { return &Steps{make(chan func(*Turn))} }

// Script runs the steps. It is a value for [Agents.Script].
func (s *Steps) Script(t *Turn) {
	for {
		select {
		case step, more := <-s.steps:
			if !more {
				return
			}
			step(t)
		case <-t.Aborted():
			return
		case <-t.Gone():
			return
		}
	}
}

// Do executes a step; it returns when the script has accepted it.
func (s *Steps) Do(step func(*Turn)) { s.steps <- step }

// End ends the script.
func (s *Steps) End() { close(s.steps) }

// Eventful returns the steps of a run that is difficult for readers who join in the middle: overlapping texts
// and calls, those of a sub-agent, a text that is retracted and repeated, failing calls, and a thought, a
// text and a call without ends. Each step is one event.
func Eventful() []func(*Turn) {
	emit := func(agent string, bodies ...event.Body) (steps []func(*Turn)) {
		for _, b := range bodies {
			steps = append(steps, func(t *Turn) { t.EmitAs(agent, b) })
		}
		return steps
	}
	var all []func(*Turn)
	for _, part := range [][]func(*Turn){
		emit("", event.TurnStarted{ID: "0"},
			event.ReasoningStarted{ID: "r1"}, event.ReasoningDelta{ID: "r1", Text: "I "}, event.ReasoningDelta{ID: "r1", Text: "think"},
			event.MessageStarted{ID: "m1"}, event.MessageDelta{ID: "m1", Text: "lost"}, event.MessageEnded{ID: "m1"},
			event.MessageStarted{ID: "m2"}, event.MessageDelta{ID: "m2", Text: "one "}, event.MessageDelta{ID: "m2", Text: "two"},
			event.ReasoningEnded{ID: "r1", Text: "I think"}, event.MessageEnded{ID: "m2", Text: "one two"},
			event.ModelCalled{Model: "model-a", Input: 10, Output: 2},
			event.ToolStarted{ID: "t1", Name: "bash", Arguments: []byte(`{"command":"make"}`)},
			event.ToolOutput{ID: "t1", Text: "a\n"}, event.ToolOutput{ID: "t1", Text: "b\n"},
			event.MessageStarted{ID: "m3"}, event.MessageEnded{ID: "m3"},
			event.ToolStarted{ID: "t2", Name: "task", Arguments: []byte(`{}`)}),
		emit("agent-1", event.SubagentStarted{ID: "agent-1", Call: "t2", Name: "explore", Title: "Explore"},
			event.MessageStarted{ID: "m4"}, event.MessageDelta{ID: "m4", Text: "from "}),
		emit("", event.ToolOutput{ID: "t1", Text: "c\n"}),
		emit("agent-1", event.MessageDelta{ID: "m4", Text: "below"}, event.MessageEnded{ID: "m4", Text: "from below"},
			event.SubagentEnded{ID: "agent-1", Outcome: event.Completed, Tokens: 7}),
		emit("", event.ToolEnded{ID: "t2", Result: &event.ToolResult{Content: "found"}},
			event.ToolEnded{ID: "t1", Result: &event.ToolResult{Content: "a\nb\nc\n"}, Error: &event.ToolError{Text: "exit code 3", Code: event.CodeExit}},
			event.ModelCalled{Model: "model-a", Input: 20, Output: 3}, event.TurnEnded{ID: "0"}, event.TurnStarted{ID: "1"},
			event.ReasoningStarted{ID: "r2"}, event.ReasoningDelta{ID: "r2", Text: "so "}, event.ReasoningDelta{ID: "r2", Text: "on"},
			event.ToolStarted{ID: "t3", Name: "bash", Arguments: []byte(`{"command":"sleep 9"}`)}, event.ToolOutput{ID: "t3", Text: "half"},
			event.MessageStarted{ID: "m5"}, event.MessageDelta{ID: "m5", Text: "the "}, event.MessageDelta{ID: "m5", Text: "end"}),
	} {
		all = append(all, part...)
	}
	return all
}
