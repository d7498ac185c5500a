package copilottest

import "github.com/copilot-portal/portal/copilot"

// Steps is a script that does one thing at a time, when a test says so. Make it with
// [NewSteps].
type Steps struct {
	steps chan func(*Turn)
}

// NewSteps makes a script without steps.
func NewSteps() *Steps { return &Steps{make(chan func(*Turn))} }

// Script is to be that of the agents.
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

// Do does a step; it returns when the work on the prompt has taken it.
func (s *Steps) Do(step func(*Turn)) { s.steps <- step }

// End ends the work.
func (s *Steps) End() { close(s.steps) }

// Eventful are the steps of a run in which all happens that readers who join in the
// middle could get wrong: texts and calls that overlap, those of a sub-agent, a
// text that is given up and said again, calls that fail, and a thought, a text and a
// call that are left without their ends. Each step is one event.
func Eventful() []func(*Turn) {
	tell := func(agent string, bodies ...copilot.Body) (steps []func(*Turn)) {
		for _, b := range bodies {
			steps = append(steps, func(t *Turn) { t.EmitAs(agent, b) })
		}
		return steps
	}
	var all []func(*Turn)
	for _, part := range [][]func(*Turn){
		tell("", copilot.TurnStarted{ID: "0"},
			copilot.ReasoningStarted{ID: "r1"}, copilot.ReasoningDelta{ID: "r1", Text: "I "}, copilot.ReasoningDelta{ID: "r1", Text: "think"},
			copilot.MessageStarted{ID: "m1"}, copilot.MessageDelta{ID: "m1", Text: "lost"}, copilot.MessageEnded{ID: "m1"},
			copilot.MessageStarted{ID: "m2"}, copilot.MessageDelta{ID: "m2", Text: "one "}, copilot.MessageDelta{ID: "m2", Text: "two"},
			copilot.ReasoningEnded{ID: "r1", Text: "I think"}, copilot.MessageEnded{ID: "m2", Text: "one two"},
			copilot.ModelCalled{Model: "model-a", Input: 10, Output: 2},
			copilot.ToolStarted{ID: "t1", Name: "bash", Arguments: []byte(`{"command":"make"}`)},
			copilot.ToolOutput{ID: "t1", Text: "a\n"}, copilot.ToolOutput{ID: "t1", Text: "b\n"},
			copilot.MessageStarted{ID: "m3"}, copilot.MessageEnded{ID: "m3"},
			copilot.ToolStarted{ID: "t2", Name: "task", Arguments: []byte(`{}`)}),
		tell("agent-1", copilot.SubagentStarted{ID: "agent-1", Call: "t2", Name: "explore", Title: "Explore"},
			copilot.MessageStarted{ID: "m4"}, copilot.MessageDelta{ID: "m4", Text: "from "}),
		tell("", copilot.ToolOutput{ID: "t1", Text: "c\n"}),
		tell("agent-1", copilot.MessageDelta{ID: "m4", Text: "below"}, copilot.MessageEnded{ID: "m4", Text: "from below"},
			copilot.SubagentEnded{ID: "agent-1", Outcome: copilot.Completed, Tokens: 7}),
		tell("", copilot.ToolEnded{ID: "t2", Result: &copilot.ToolResult{Content: "found"}},
			copilot.ToolEnded{ID: "t1", Result: &copilot.ToolResult{Content: "a\nb\nc\n"}, Error: &copilot.ToolError{Text: "exit code 3", Code: copilot.CodeExit}},
			copilot.ModelCalled{Model: "model-a", Input: 20, Output: 3}, copilot.TurnEnded{ID: "0"}, copilot.TurnStarted{ID: "1"},
			copilot.ReasoningStarted{ID: "r2"}, copilot.ReasoningDelta{ID: "r2", Text: "so "}, copilot.ReasoningDelta{ID: "r2", Text: "on"},
			copilot.ToolStarted{ID: "t3", Name: "bash", Arguments: []byte(`{"command":"sleep 9"}`)}, copilot.ToolOutput{ID: "t3", Text: "half"},
			copilot.MessageStarted{ID: "m5"}, copilot.MessageDelta{ID: "m5", Text: "the "}, copilot.MessageDelta{ID: "m5", Text: "end"}),
	} {
		all = append(all, part...)
	}
	return all
}
