package rpc

import (
	"encoding/json"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// encoder turns the events of the domain into those of a stream (spec/contracts/json-rpc-http.md,
// "session.stream", and its notes, "Stream"). It keeps what that needs: how much of a text is
// sent, the tool calls, and the plan.
type encoder struct {
	past   uint64 // up to here whole texts replace their pieces
	last   uint64 // entry that was sent
	unsure bool   // the client may have something that this encoder does not know
	blocks map[blockKey]*textBlock
	calls  map[string]event.ToolStarted
	asked  map[string]event.Question
	plan   plan
	piece  [1]message // the delta that was encoded last
}

func newEncoder() *encoder {
	enc := &encoder{}
	enc.endRun()
	return enc
}

// endRun forgets the run.
func (enc *encoder) endRun() {
	enc.blocks, enc.calls = map[blockKey]*textBlock{}, map[string]event.ToolStarted{}
	enc.asked, enc.plan = map[string]event.Question{}, plan{}
	enc.unsure = false
}

// encode returns the events for an entry; none if this dialect ignores it. They are valid until the next call.
func (enc *encoder) encode(e journal.Entry[event.Event]) []message {
	enc.checkGap(e.N)
	if messages, ok := enc.encodeText(e); ok {
		return messages
	}
	if messages, ok := enc.encodeAction(e); ok {
		return messages
	}
	return enc.encodeState(e)
}

// encodeText encodes what the user and the model say.
func (enc *encoder) encodeText(e journal.Entry[event.Event]) (messages []message, ok bool) {
	switch b := e.Value.Body.(type) {
	case event.UserMessage:
		return singleEvent("timeline.message", timelineMessage{Type: "prompt", Role: "user", Content: b.Prompt.Text, MessageID: e.Value.Run}), true
	case event.ReasoningStarted:
		enc.open(blockKey{blockReasoning, b.ID}, true)
	case event.ReasoningDelta:
		return enc.delta("timeline.message", blockKey{blockReasoning, b.ID}, b.Text, e), true
	case event.ReasoningEnded:
		return enc.endText(blockKey{blockReasoning, b.ID}, b.Text, e), true
	case event.MessageStarted:
		enc.open(blockKey{blockMessage, b.ID}, true)
	case event.MessageDelta:
		return enc.delta("timeline.message", blockKey{blockMessage, b.ID}, b.Text, e), true
	case event.MessageEnded:
		return enc.endText(blockKey{blockMessage, b.ID}, b.Text, e), true
	default:
		return nil, false
	}
	return nil, true
}

// timelineMessage is a timeline.message. The plugin appends those of the type "text" to the answer
// that it shows, so everything else has another type.
type timelineMessage struct {
	Type      string `json:"type"`
	Role      string `json:"role"`
	Content   string `json:"content"` // "" if everything is sent: the plugin appends it
	MessageID string `json:"messageId"`
	Delta     bool   `json:"delta"`
	Agent     string `json:"agent,omitempty"` // the sub-agent that says it
}

// textEvent returns the event of a text.
func textEvent(key blockKey, agent, content string, isDelta bool) timelineMessage {
	v := timelineMessage{Type: "text", Role: "assistant", Content: content, MessageID: key.id, Delta: isDelta, Agent: agent}
	switch {
	case key.kind == blockReasoning:
		v.Type, v.Role = "reasoning", "reasoning"
	case agent != "":
		v.Type = "subagent"
	}
	return v
}

// delta returns the event of a piece of a text, which is the same for every reader.
func (enc *encoder) delta(name string, of blockKey, content string, e journal.Entry[event.Event]) []message {
	if !enc.addDelta(of, content, e.Superseded, e.N) {
		return nil
	}
	enc.piece[0] = message{event: name, delta: textDelta{of, e.Value.Agent, content}, shared: true}
	return enc.piece[:]
}

// payload returns the data of an event on the wire.
func (m message) payload() any {
	switch d := m.delta; {
	case !m.isDelta():
		return m.data
	case d.of.kind == blockOutput:
		return toolOutput{d.of.id, d.content}
	default:
		return textEvent(d.of, d.agent, d.content, true)
	}
}

// endText encodes the end of a text with the rest of it. A text without content, of a model that
// only called tools, is ignored.
func (enc *encoder) endText(key blockKey, whole string, e journal.Entry[event.Event]) []message {
	if b := enc.blocks[key]; whole == "" && (b == nil || b.sent == 0 && !b.startUnseen) {
		delete(enc.blocks, key)
		return nil
	}
	content, mayRepeat := enc.remainingText(key, whole)
	encoded := singleEvent("timeline.message", textEvent(key, e.Value.Agent, content, false))
	if mayRepeat {
		gap := singleEvent("gap", incompleteData{key.id, "the following text is complete; a part of it may have been sent before"})
		return append(gap, encoded...)
	}
	return encoded
}

type incompleteData struct {
	MessageID string `json:"messageId"`
	Reason    string `json:"reason"`
}

// encodeAction encodes what the agent does and asks.
func (enc *encoder) encodeAction(e journal.Entry[event.Event]) (messages []message, ok bool) {
	switch b := e.Value.Body.(type) {
	case event.ToolStarted:
		enc.calls[b.ID] = b
		return singleEvent("timeline.toolCall", enc.toolCall(b.ID, "running")), true
	case event.ToolOutput:
		return enc.delta("timeline.toolOutput", blockKey{blockOutput, b.ID}, b.Text, e), true
	case event.ToolEnded:
		return singleEvent("timeline.toolCall", enc.toolEnded(b)), true
	case event.QuestionAsked:
		enc.asked[b.Question.ID] = b.Question
		return enc.question(b.Question), true
	case event.QuestionClosed:
		return enc.answered(b), true
	case event.PlanChanged:
		return enc.plan.change(e.Value.Run, b), true
	}
	return nil, false
}

type toolCall struct {
	CallID   string  `json:"callId"`
	ToolName string  `json:"toolName"`
	Args     any     `json:"args"`
	Status   string  `json:"status"`
	Result   *string `json:"result,omitempty"`
	Error    string  `json:"error,omitempty"`
	Parent   string  `json:"parentCallId,omitempty"`
}

type toolOutput struct {
	CallID  string `json:"callId"`
	Content string `json:"content"`
}

func (enc *encoder) toolCall(id, status string) toolCall {
	b := enc.calls[id]
	return toolCall{CallID: id, ToolName: b.Name, Args: jsonrpc.Object(b.Arguments), Status: status, Parent: b.Parent}
}

func (enc *encoder) toolEnded(b event.ToolEnded) toolCall {
	encoded := enc.toolCall(b.ID, "completed")
	delete(enc.calls, b.ID)
	delete(enc.blocks, blockKey{blockOutput, b.ID})
	if b.Result != nil {
		encoded.Result = &b.Result.Content
	}
	if b.Error != nil {
		encoded.Status, encoded.Error = "failed", b.Error.Text
	}
	return encoded
}

// encodeState encodes changes of the session and its runs.
func (enc *encoder) encodeState(e journal.Entry[event.Event]) []message {
	switch b := e.Value.Body.(type) {
	case event.RunStarted:
		enc.endRun()
	case event.RunEnded:
		encoded := enc.plan.end(b.Outcome)
		enc.endRun()
		return append(encoded, message{event: "done", data: doneData{e.Value.Run, b.Outcome}})
	case event.SessionError:
		return singleEvent("error", failure{codeSDK, sdkFailed + ": " + b.Text, strings.TrimSpace(b.Text + "\n" + b.Hint)})
	case event.ModelChanged:
		return singleEvent("model", map[string]string{"model": b.Model})
	case event.TitleChanged:
		return singleEvent("title", map[string]string{"title": b.Title})
	case event.UsageChanged:
		return singleEvent("usage", contextUsage{b.Used, b.Limit, b.Multiplier})
	case event.ModelCalled:
		return singleEvent("usage", tokenUsage{b.Model, b.Input, b.Output, b.Cached})
	case event.FilesRestored:
		return singleEvent("files.restored", filesRestored{b.ID, b.Kind, b.Target, b.Undoes, b.Paths, b.Files, b.Left, b.By})
	case event.SessionClosed:
		return singleEvent("closed", struct{}{})
	case event.SessionOpened, event.PolicyChanged, event.CompactionStarted, event.CompactionEnded, event.ServerChanged, event.Notice,
		event.QueueChanged, event.TurnStarted, event.TurnEnded, event.SubagentStarted, event.SubagentEnded: // ignored
	}
	return nil
}

type filesRestored struct {
	ID     string            `json:"id"`
	Kind   event.RestoreKind `json:"kind"`
	RunID  string            `json:"messageId,omitempty"`
	Undoes string            `json:"undoes,omitempty"`
	Paths  []string          `json:"paths"`
	Files  int               `json:"files"`
	Left   []string          `json:"left,omitempty"`
	By     string            `json:"by"`
}

type doneData struct {
	MessageID string        `json:"messageId"`
	Status    event.Outcome `json:"status"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    string `json:"data,omitempty"`
}

type contextUsage struct {
	Used       int64   `json:"used"`
	Limit      int64   `json:"limit"`
	Multiplier float64 `json:"multiplier"`
}

type tokenUsage struct {
	Model  string `json:"model"`
	Input  int64  `json:"inputTokens"`
	Output int64  `json:"outputTokens"`
	Cached int64  `json:"cachedTokens"`
}

func singleEvent(event string, data any) []message { return []message{{event: event, data: data}} }

// arguments returns those of the call of a question.
func (enc *encoder) arguments(q event.Question) json.RawMessage {
	if q.Arguments != nil {
		return q.Arguments
	}
	return enc.calls[q.Call].Arguments
}
