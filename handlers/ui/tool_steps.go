package ui

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/handlers/wire"
)

// toolStep is a tool call of a run.
type toolStep struct {
	event.ToolStarted
	began  time.Time
	asking int           // open permissions
	asked  time.Time     // when the first of them was asked
	waited time.Duration // for permissions, in all
	over   bool
}

// ask records that the call waits for a permission. That is not part of its duration.
func (s *toolStep) ask(at time.Time) {
	if s.asking == 0 {
		s.asked = at
	}
	s.asking++
}

// answer records that a permission is answered.
func (s *toolStep) answer(at time.Time) {
	if s.asking--; s.asking == 0 {
		s.waited += at.Sub(s.asked)
	}
}

// duration returns how long the call worked.
func (s *toolStep) duration(at time.Time) time.Duration {
	for s.asking > 0 { // interrupted
		s.answer(at)
	}
	return at.Sub(s.began) - s.waited
}

// encodeAction encodes what the agent does.
func (t *runEncoder) encodeAction() bool {
	switch b := t.at.Value.Body.(type) {
	case event.ToolStarted:
		t.beginTool(b)
	case event.ToolOutput:
		t.addPiece("tool", b.ID, plain.Output(b.Text))
	case event.ToolEnded:
		t.endTool(b)
	case event.FilesRestored:
		t.filesRestored(b)
	case event.PlanChanged:
		t.addLatest("plan", plan{"plan", plain.Text(b.Text), todos(b.Todos)})
	case event.CompactionStarted:
		t.addNumbered(compactionStart{"compaction_start", t.ms()}, "")
		t.markPart("compaction", false)
	case event.CompactionEnded:
		t.addNumbered(compactionComplete{"compaction_complete", t.ms(), b.Error == ""}, "")
		t.markPart("compaction", true)
	case event.SubagentStarted:
		t.addUnnumbered(forDeltas, subagentStart{"subagent_start", b.ID, b.Call, plain.Text(b.Name), plain.Text(b.Title)})
		t.markPart(blockKey("agent", b.ID), false)
	case event.SubagentEnded:
		t.addUnnumbered(forDeltas, subagentEnd{"subagent_end", b.ID, b.Outcome, plain.Text(b.Error), b.Tokens, b.ToolCalls, b.Duration.Milliseconds()})
		t.markPart(blockKey("agent", b.ID), true)
	default:
		return false
	}
	return true
}

// markPart makes the last message part of a block.
func (t *runEncoder) markPart(of string, closes bool) {
	m := &t.out[len(t.out)-1]
	m.block, m.closes = of, closes
}

func todos(of []event.Todo) []todo {
	return wire.List(of, func(x event.Todo) todo { return todo{x.ID, plain.Text(x.Title), plain.Text(x.Detail), x.State} })
}

// beginTool encodes the start of a tool call.
func (t *runEncoder) beginTool(b event.ToolStarted) {
	if t.at.Value.Agent == "" {
		t.flushHeldBlock()
	}
	t.steps = append(t.steps, toolStep{ToolStarted: b, began: t.at.Value.Time})
	t.addNumbered(stepStart{"step_start", b.ID, plain.Text(b.Name), len(t.steps)}, "")
	t.markPart(blockKey("tool", b.ID), false)
	t.addNumbered(toolCall{"tool_call", b.Name, jsonrpc.Object(b.Arguments), b.ID}, "")
	t.markPart(blockKey("tool", b.ID), false)
}

// step returns a tool call; nil if it is unknown.
func (t *runEncoder) step(id string) *toolStep {
	for i := range slices.Backward(t.steps) {
		if t.steps[i].ID == id {
			return &t.steps[i]
		}
	}
	return nil
}

// endTool encodes the end of a tool call.
func (t *runEncoder) endTool(b event.ToolEnded) {
	encoded := toolResult{Type: "tool_result", ID: b.ID}
	s := t.step(b.ID)
	if s != nil {
		encoded.Tool = s.Name
	}
	if b.Result != nil {
		encoded.Result = plain.Output(b.Result.Content)
	}
	if b.Error != nil {
		encoded.IsError, encoded.Code = true, b.Error.Code
		if _, refused := t.denied[b.ID]; refused {
			encoded.Code = event.CodeDenied
		}
		if b.Result == nil || b.Result.Content == "" {
			encoded.Result = t.failureReason(b)
		}
	}
	before := len(t.out)
	t.addNumbered(encoded, "")
	t.markPart(blockKey("tool", b.ID), true)
	if b.Result != nil {
		t.out[before].detail = plain.Output(b.Result.Detail)
	}
	t.complete(s, encoded.IsError)
}

// failureReason returns why a call failed. The portal knows a person's refusal better than the
// agent (spec/contracts/ui-protocol.notes.md, "Rules that real UIs rely on": Deny).
func (t *runEncoder) failureReason(b event.ToolEnded) string {
	reason, refused := t.denied[b.ID]
	switch {
	case refused && reason != "":
		return "Permission denied: " + reason
	case refused:
		return "Permission denied"
	}
	return plain.Output(b.Error.Text)
}

func (t *runEncoder) complete(s *toolStep, failed bool) {
	if s == nil || s.over {
		return
	}
	s.over = true
	status := statusCompleted
	if failed {
		status = statusError
	}
	t.addNumbered(stepComplete{"step_complete", s.ID, status, s.duration(t.at.Value.Time).Milliseconds()}, "")
}

// closeSteps ends the steps that the end of the run interrupts.
func (t *runEncoder) closeSteps() {
	for i := range t.steps {
		t.complete(&t.steps[i], true)
	}
}

// encodeQuestion encodes questions and their ends.
func (t *runEncoder) encodeQuestion() bool {
	switch b := t.at.Value.Body.(type) {
	case event.QuestionAsked:
		t.ask(b.Question)
	case event.QuestionClosed:
		t.encodeAnswer(b)
	default:
		return false
	}
	return true
}

func (t *runEncoder) ask(q event.Question) {
	t.open = append(t.open, q)
	if s := t.step(q.Call); s != nil && q.Kind != event.AskTool {
		s.ask(t.at.Value.Time)
	}
	if p := t.preview(q); p.Diff != "" {
		t.addUnnumbered(forPreviews, p)
		t.markPart(blockKey("tool", q.Call), false)
	}
	if q.Kind != event.AskTool && t.status != statusAwaiting {
		t.setWaiting(q, statusAwaiting, q.Title)
	}
	t.out = append(t.out, message{run: t.run, asked: &q})
}

// setWaiting sets the status because of a question.
func (t *runEncoder) setWaiting(q event.Question, status, text string) {
	before := len(t.out)
	t.setStatus(status, text)
	if len(t.out) > before {
		t.out[before].key = &q
	}
}

// preview returns the change that a permission is asked for; it has no diff for other permissions.
func (t *runEncoder) preview(q event.Question) preview {
	s := t.step(q.Call)
	if q.Kind != event.AskPermission || s == nil || !slices.Equal(q.Names, []string{permission.Write}) {
		return preview{}
	}
	var arguments struct{ Path string }
	_ = json.Unmarshal(s.Arguments, &arguments) // the path is optional
	return preview{"permission.preview", s.Name, q.Call, plain.Text(arguments.Path), plain.Text(q.Detail)}
}

func (t *runEncoder) encodeAnswer(b event.QuestionClosed) {
	i := slices.IndexFunc(t.open, func(q event.Question) bool { return q.ID == b.ID })
	var q event.Question
	if i >= 0 {
		q = t.open[i]
		t.open = slices.Delete(t.open, i, i+1)
		if s := t.step(q.Call); s != nil && q.Kind != event.AskTool {
			s.answer(t.at.Value.Time)
		}
		if q.Kind == event.AskPermission && b.Ending != event.Withdrawn && !b.Answer.Approved {
			t.denied[q.Call] = plain.Text(b.Answer.Reason)
			if b.Ending == event.Expired {
				t.denied[q.Call] = "nobody answered in time"
			}
		}
	}
	t.out = append(t.out, message{run: t.run, answered: b.ID})
	t.addUnnumbered(forDeltas, verdict(b))
	if t.status == statusAwaiting && !t.isAsking() && b.Ending != event.Withdrawn {
		t.setWaiting(q, statusRunning, "")
	}
}

func verdict(b event.QuestionClosed) questionAnswered {
	encoded := questionAnswered{Type: "question_answered", ID: b.ID, By: b.By, Ending: b.Ending, Reason: plain.Text(b.Answer.Reason)}
	switch b.Kind {
	case event.AskPermission, event.AskPlan, event.AskForm, event.AskSignIn:
		if b.Ending == event.Answered {
			encoded.Approved = &b.Answer.Approved
		}
	case event.AskInput, event.AskTool:
	}
	return encoded
}
