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
func (enc *runEncoder) encodeAction() bool {
	switch b := enc.at.Value.Body.(type) {
	case event.ToolStarted:
		enc.beginTool(b)
	case event.ToolOutput:
		enc.addPiece("tool", b.ID, plain.Output(b.Text))
	case event.ToolEnded:
		enc.endTool(b)
	case event.FilesRestored:
		enc.filesRestored(b)
	case event.PlanChanged:
		enc.addLatest("plan", plan{"plan", plain.Text(b.Text), todos(b.Todos)})
	case event.CompactionStarted:
		enc.addNumbered(compactionStart{"compaction_start", enc.ms()}, "")
		enc.markPart(blockKey{kind: "compaction"}, false)
	case event.CompactionEnded:
		enc.addNumbered(compactionComplete{"compaction_complete", enc.ms(), b.Error == ""}, "")
		enc.markPart(blockKey{kind: "compaction"}, true)
	case event.SubagentStarted:
		enc.addUnnumbered(forDeltas, subagentStart{"subagent_start", b.ID, b.Call, plain.Text(b.Name), plain.Text(b.Title)})
		enc.markPart(blockKey{"agent", b.ID}, false)
	case event.SubagentEnded:
		enc.addUnnumbered(forDeltas, subagentEnd{"subagent_end", b.ID, b.Outcome, plain.Text(b.Error), b.Tokens, b.ToolCalls, b.Duration.Milliseconds()})
		enc.markPart(blockKey{"agent", b.ID}, true)
	default:
		return false
	}
	return true
}

// markPart makes the last message part of a block.
func (enc *runEncoder) markPart(of blockKey, closes bool) {
	m := &enc.out[len(enc.out)-1]
	m.block, m.closes = of, closes
}

func todos(of []event.Todo) []todo {
	return wire.List(of, func(x event.Todo) todo { return todo{x.ID, plain.Text(x.Title), plain.Text(x.Detail), x.State} })
}

// beginTool encodes the start of a tool call.
func (enc *runEncoder) beginTool(b event.ToolStarted) {
	if enc.at.Value.Agent == "" {
		enc.flushHeldBlock()
	}
	enc.steps = append(enc.steps, toolStep{ToolStarted: b, began: enc.at.Value.Time})
	enc.addNumbered(stepStart{"step_start", b.ID, plain.Text(b.Name), len(enc.steps)}, "")
	enc.markPart(blockKey{"tool", b.ID}, false)
	enc.addNumbered(toolCall{"tool_call", b.Name, jsonrpc.Object(b.Arguments), b.ID}, "")
	enc.markPart(blockKey{"tool", b.ID}, false)
}

// step returns a tool call; nil if it is unknown.
func (enc *runEncoder) step(id string) *toolStep {
	for i := range slices.Backward(enc.steps) {
		if enc.steps[i].ID == id {
			return &enc.steps[i]
		}
	}
	return nil
}

// endTool encodes the end of a tool call.
func (enc *runEncoder) endTool(b event.ToolEnded) {
	encoded := toolResult{Type: "tool_result", ID: b.ID}
	s := enc.step(b.ID)
	if s != nil {
		encoded.Tool = s.Name
	}
	if b.Result != nil {
		encoded.Result = plain.Output(b.Result.Content)
	}
	if b.Error != nil {
		encoded.IsError, encoded.Code = true, b.Error.Code
		if _, refused := enc.denied[b.ID]; refused {
			encoded.Code = event.CodeDenied
		}
		if b.Result == nil || b.Result.Content == "" {
			encoded.Result = enc.failureReason(b)
		}
	}
	before := len(enc.out)
	enc.addNumbered(encoded, "")
	enc.markPart(blockKey{"tool", b.ID}, true)
	if b.Result != nil {
		enc.out[before].detail = plain.Output(b.Result.Detail)
	}
	enc.complete(s, encoded.IsError)
}

// failureReason returns why a call failed. The portal knows a person's refusal better than the
// agent (spec/contracts/ui-protocol.notes.md, "Rules that real UIs rely on": Deny).
func (enc *runEncoder) failureReason(b event.ToolEnded) string {
	reason, refused := enc.denied[b.ID]
	switch {
	case refused && reason != "":
		return "Permission denied: " + reason
	case refused:
		return "Permission denied"
	}
	return plain.Output(b.Error.Text)
}

func (enc *runEncoder) complete(s *toolStep, failed bool) {
	if s == nil || s.over {
		return
	}
	s.over = true
	status := statusCompleted
	if failed {
		status = statusError
	}
	enc.addNumbered(stepComplete{"step_complete", s.ID, status, s.duration(enc.at.Value.Time).Milliseconds()}, "")
}

// closeSteps ends the steps that the end of the run interrupts.
func (enc *runEncoder) closeSteps() {
	for i := range enc.steps {
		enc.complete(&enc.steps[i], true)
	}
}

// encodeQuestion encodes questions and their ends.
func (enc *runEncoder) encodeQuestion() bool {
	switch b := enc.at.Value.Body.(type) {
	case event.QuestionAsked:
		enc.ask(b.Question)
	case event.QuestionClosed:
		enc.encodeAnswer(b)
	default:
		return false
	}
	return true
}

func (enc *runEncoder) ask(q event.Question) {
	if !enc.open.Add(q) {
		return
	}
	if s := enc.step(q.Call); s != nil && q.Kind != event.AskTool {
		s.ask(enc.at.Value.Time)
	}
	if p := enc.preview(q); p.Diff != "" {
		enc.addUnnumbered(forPreviews, p)
		enc.markPart(blockKey{"tool", q.Call}, false)
	}
	if q.Kind != event.AskTool && enc.status != statusAwaiting {
		enc.setWaiting(q, statusAwaiting, q.Title)
	}
	enc.out = append(enc.out, message{run: enc.run, asked: &q})
}

// setWaiting sets the status because of a question.
func (enc *runEncoder) setWaiting(q event.Question, status, text string) {
	before := len(enc.out)
	enc.setStatus(status, text)
	if len(enc.out) > before {
		enc.out[before].key = &q
	}
}

// preview returns the change that a permission is asked for; it has no diff for other permissions.
func (enc *runEncoder) preview(q event.Question) preview {
	s := enc.step(q.Call)
	if q.Kind != event.AskPermission || s == nil || !slices.Equal(q.Names, []string{permission.Write}) {
		return preview{}
	}
	var arguments struct{ Path string }
	_ = json.Unmarshal(s.Arguments, &arguments) // the path is optional
	return preview{"permission.preview", s.Name, q.Call, plain.Text(arguments.Path), plain.Text(q.Detail)}
}

func (enc *runEncoder) encodeAnswer(b event.QuestionClosed) {
	i := slices.IndexFunc(enc.open, func(q event.Question) bool { return q.ID == b.ID })
	var q event.Question
	if i >= 0 {
		q = enc.open[i]
		enc.open = slices.Delete(enc.open, i, i+1)
		if s := enc.step(q.Call); s != nil && q.Kind != event.AskTool {
			s.answer(enc.at.Value.Time)
		}
		if q.Kind == event.AskPermission && b.Ending != event.Withdrawn && !b.Answer.Approved {
			enc.denied[q.Call] = plain.Text(b.Answer.Reason)
			if b.Ending == event.Expired {
				enc.denied[q.Call] = "nobody answered in time"
			}
		}
	}
	enc.out = append(enc.out, message{run: enc.run, answered: b.ID})
	enc.addUnnumbered(forDeltas, verdict(b))
	if enc.status == statusAwaiting && !enc.isAsking() && b.Ending != event.Withdrawn {
		enc.setWaiting(q, statusRunning, "")
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
