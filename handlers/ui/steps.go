package ui

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/plain"
)

// step is a tool call of a run.
type step struct {
	event.ToolStarted
	began  time.Time
	asking int           // permissions that are waited for
	asked  time.Time     // since when
	waited time.Duration // for them, in all
	over   bool
}

// ask notes that the call waits for a permission, which is no part of its work.
func (s *step) ask(at time.Time) {
	if s.asking == 0 {
		s.asked = at
	}
	s.asking++
}

// answer notes that a permission is waited for no more.
func (s *step) answer(at time.Time) {
	if s.asking--; s.asking == 0 {
		s.waited += at.Sub(s.asked)
	}
}

// took is how long the call worked.
func (s *step) took(at time.Time) time.Duration {
	for s.asking > 0 { // it was cut off
		s.answer(at)
	}
	return at.Sub(s.began) - s.waited
}

// did is what the agent does.
func (t *teller) did() bool {
	switch b := t.at.Value.Body.(type) {
	case event.ToolStarted:
		t.begin(b)
	case event.ToolOutput:
		t.aside(forDeltas, delta{Type: "delta", Target: "tool", ID: b.ID, Content: plain.Output(b.Text)})
	case event.ToolEnded:
		t.finish(b)
	case event.PlanChanged:
		t.last("plan", plan{"plan", plain.Text(b.Text), todos(b.Todos)})
	case event.CompactionStarted:
		t.event(compactionStart{"compaction_start", t.ms()}, "")
		t.part("compaction", false)
	case event.CompactionEnded:
		t.event(compactionComplete{"compaction_complete", t.ms(), b.Error == ""}, "")
		t.part("compaction", true)
	case event.SubagentStarted:
		t.aside(forDeltas, subagentStart{"subagent_start", b.ID, b.Call, b.Name, b.Title})
		t.part(blockKey("agent", b.ID), false)
	case event.SubagentEnded:
		t.aside(forDeltas, subagentEnd{"subagent_end", b.ID, b.Outcome, b.Error, b.Tokens, b.ToolCalls, b.Duration.Milliseconds()})
		t.part(blockKey("agent", b.ID), true)
	default:
		return false
	}
	return true
}

// part makes the last message a part of what goes on for a while.
func (t *teller) part(of string, closes bool) {
	m := &t.out[len(t.out)-1]
	m.block, m.closes = of, closes
}

func todos(of []event.Todo) []todo {
	list := make([]todo, 0, len(of))
	for _, x := range of {
		list = append(list, todo{x.ID, plain.Text(x.Title), plain.Text(x.Detail), x.State})
	}
	return list
}

// begin tells that a tool is called.
func (t *teller) begin(b event.ToolStarted) {
	if t.at.Value.Agent == "" {
		t.flush()
	}
	t.steps = append(t.steps, step{ToolStarted: b, began: t.at.Value.Time})
	t.event(stepStart{"step_start", b.ID, b.Name, len(t.steps)}, "")
	t.part(blockKey("tool", b.ID), false)
	t.event(toolCall{"tool_call", b.Name, jsonrpc.Object(b.Arguments), b.ID}, "")
	t.part(blockKey("tool", b.ID), false)
}

// step finds a tool call; nil if it is not known.
func (t *teller) step(id string) *step {
	for i := range slices.Backward(t.steps) {
		if t.steps[i].ID == id {
			return &t.steps[i]
		}
	}
	return nil
}

// finish tells what came of a tool call.
func (t *teller) finish(b event.ToolEnded) {
	told := toolResult{Type: "tool_result", ID: b.ID}
	s := t.step(b.ID)
	if s != nil {
		told.Tool = s.Name
	}
	if b.Result != nil {
		told.Result = plain.Output(b.Result.Content)
	}
	if b.Error != nil {
		told.IsError, told.Code = true, b.Error.Code
		if _, refused := t.denied[b.ID]; refused {
			told.Code = event.CodeDenied
		}
		if b.Result == nil || b.Result.Content == "" {
			told.Result = t.why(b)
		}
	}
	before := len(t.out)
	t.event(told, "")
	t.part(blockKey("tool", b.ID), true)
	if b.Result != nil {
		t.out[before].detail = plain.Output(b.Result.Detail)
	}
	t.complete(s, told.IsError)
}

// why says why a call failed. A person's refusal is known better than the agent
// tells it (spec/contracts/ui-protocol.notes.md, "Rules that real UIs rely on": Deny).
func (t *teller) why(b event.ToolEnded) string {
	reason, refused := t.denied[b.ID]
	switch {
	case refused && reason != "":
		return "Permission denied: " + reason
	case refused:
		return "Permission denied"
	}
	return plain.Output(b.Error.Text)
}

func (t *teller) complete(s *step, failed bool) {
	if s == nil || s.over {
		return
	}
	s.over = true
	status := statusCompleted
	if failed {
		status = statusError
	}
	t.event(stepComplete{"step_complete", s.ID, status, s.took(t.at.Value.Time).Milliseconds()}, "")
}

// closeSteps ends the steps that were cut off with their run.
func (t *teller) closeSteps() {
	for i := range t.steps {
		t.complete(&t.steps[i], true)
	}
}

// asked is what the agent wants to know, or to have done.
func (t *teller) asked() bool {
	switch b := t.at.Value.Body.(type) {
	case event.QuestionAsked:
		t.ask(b.Question)
	case event.QuestionClosed:
		t.answer(b)
	default:
		return false
	}
	return true
}

func (t *teller) ask(q event.Question) {
	t.open = append(t.open, q)
	if s := t.step(q.Call); s != nil && q.Kind != event.AskTool {
		s.ask(t.at.Value.Time)
	}
	if p := t.preview(q); p.Diff != "" {
		t.aside(forPreviews, p)
		t.part(blockKey("tool", q.Call), false)
	}
	if q.Kind != event.AskTool && t.status != statusAwaiting {
		t.turnFor(q, statusAwaiting, q.Title)
	}
	t.out = append(t.out, message{run: t.run, asked: &q})
}

// turnFor tells that the run waits because of a question, or goes on.
func (t *teller) turnFor(q event.Question, status, text string) {
	before := len(t.out)
	t.turn(status, text)
	if len(t.out) > before {
		t.out[before].about = &q
	}
}

// preview is the change that a permission is asked for; it has no diff if that is
// for something else.
func (t *teller) preview(q event.Question) preview {
	s := t.step(q.Call)
	if q.Kind != event.AskPermission || s == nil || !slices.Equal(q.Names, []string{permission.Write}) {
		return preview{}
	}
	var arguments struct{ Path string }
	_ = json.Unmarshal(s.Arguments, &arguments) // the path is a help, not more
	return preview{"permission.preview", s.Name, q.Call, plain.Text(arguments.Path), plain.Text(q.Detail)}
}

func (t *teller) answer(b event.QuestionClosed) {
	i := slices.IndexFunc(t.open, func(q event.Question) bool { return q.ID == b.ID })
	var q event.Question
	if i >= 0 {
		q = t.open[i]
		t.open = slices.Delete(t.open, i, i+1)
		if s := t.step(q.Call); s != nil && q.Kind != event.AskTool {
			s.answer(t.at.Value.Time)
		}
		if q.Kind == event.AskPermission && b.Ending != event.Withdrawn && !b.Answer.Approved {
			t.denied[q.Call] = b.Answer.Reason
			if b.Ending == event.Expired {
				t.denied[q.Call] = "nobody answered in time"
			}
		}
	}
	t.out = append(t.out, message{run: t.run, answered: b.ID})
	t.aside(forDeltas, verdict(b))
	if t.status == statusAwaiting && !t.isAsking() && b.Ending != event.Withdrawn {
		t.turnFor(q, statusRunning, "")
	}
}

func verdict(b event.QuestionClosed) questionAnswered {
	told := questionAnswered{Type: "question_answered", ID: b.ID, By: b.By, Ending: b.Ending, Reason: b.Answer.Reason}
	switch b.Kind {
	case event.AskPermission, event.AskPlan, event.AskForm, event.AskSignIn:
		if b.Ending == event.Answered {
			told.Approved = &b.Answer.Approved
		}
	case event.AskInput, event.AskTool:
	}
	return told
}
