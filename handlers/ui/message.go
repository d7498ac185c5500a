package ui

import (
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// The notifications of the portal.
const (
	notifyEvent   = "agent.event"
	notifyStatus  = "run.status"
	notifyContext = "run.context"
	notifyClosed  = "portal.session.closed"
	notifyReset   = "portal.session.reset"
)

// The states of a run on this wire (spec/contracts/ui-protocol.md, "5.4 run.status").
const (
	statusRunning   = "running"
	statusAwaiting  = "awaiting_ui"
	statusCompleted = "completed"
	statusError     = "error"
	statusCancelled = "cancelled"
)

// audience is the UIs that a message is for.
type audience int

const (
	forAll audience = iota
	forDeltas
	forPreviews // and UIs that take deltas
	forOthers   // all but the UI that sent the prompt, and UIs that take deltas
)

// message is what the encoder makes of an entry: a notification, or a question, which becomes a
// request.
type message struct {
	method  string // "" for a question and its end
	to      audience
	run     string
	seq     int
	event   agentEvent
	status  string
	text    string // of a status
	percent int    // of the context window that is left
	cursor  cursor // of the last entry that it covers
	time    int64  // when it happened, in ms; 0 if it is in no record
	started int64  // of a block: when it began, if known
	id      string // of the block
	agent   string // the sub-agent, if one did it
	latest  string // in a history, only the last message of each key counts

	entry  uint64   // the number of its entry
	block  blockKey // the block it belongs to; zero for none
	closes bool     // it ends the block
	begins bool     // it only starts a text: used in histories, where the whole text comes at its end
	shared bool     // every UI that takes deltas as text gets the same

	detail  string // of a tool's result, for people
	html    string // see [htmlRenderer]; so for the next two
	added   int
	removed int

	key      *event.Question // of a status: the question that the run waits for, or waited for
	asked    *event.Question // to ask
	answered string          // the id of the closed question
}

// isTerminal reports whether it is the last message of its run.
func (m message) isTerminal() bool {
	return m.method == notifyStatus && m.status != statusRunning && m.status != statusAwaiting
}

// plain returns a message for a UI that takes only what spec/contracts/ui-protocol.md has.
func (m message) plain() message {
	m.detail = ""
	if prompt, ok := m.event.(promptEvent); ok {
		prompt.Attachments = slices.Clone(prompt.Attachments)
		for i := range prompt.Attachments {
			prompt.Attachments[i].Data = nil
		}
		m.event = prompt
	}
	return m
}

// meta is what all messages say about their origin.
type meta struct {
	SessionID string `json:"session_id"`
	Cursor    string `json:"cursor"`
	Time      int64  `json:"time,omitempty"`
	Started   int64  `json:"started,omitempty"`
	ID        string `json:"id,omitempty"`
	Agent     string `json:"agent,omitempty"`
	Detail    string `json:"detail,omitempty"`
	HTML      string `json:"html,omitempty"`
	Added     int    `json:"added,omitempty"`
	Removed   int    `json:"removed,omitempty"`
}

type (
	eventParams struct {
		RunID string     `json:"run_id"`
		Seq   int        `json:"seq"`
		Event agentEvent `json:"event"`
		Meta  meta       `json:"meta"`
	}
	statusParams struct {
		RunID   string `json:"run_id"`
		Status  string `json:"status"`
		Message string `json:"message,omitempty"`
		Meta    meta   `json:"meta"`
	}
	contextParams struct {
		RunID   string `json:"run_id"`
		Percent int    `json:"context_left_percent"`
		Meta    meta   `json:"meta"`
	}
)

// params returns the params of the notification.
func (m message) params(session string) any {
	meta := meta{session, m.cursor.String(), m.time, m.started, m.id, m.agent, m.detail, m.html, m.added, m.removed}
	switch m.method {
	case notifyStatus:
		return statusParams{m.run, m.status, m.text, meta}
	case notifyContext:
		return contextParams{m.run, m.percent, meta}
	}
	return eventParams{m.run, m.seq, m.event, meta}
}

// agentEvent is an AgentEvent (spec/contracts/ui-protocol.md, "5.2 agent.event") or one of the
// portal's own; see spec/ui.md.
type agentEvent any

// The events of spec/contracts/ui-protocol.notes.md, "AgentEvent".
type (
	block struct {
		Type      string `json:"type"` // text, reasoning
		Content   string `json:"content"`
		Timestamp int64  `json:"timestamp"`
	}
	content struct {
		Type    string `json:"type"` // final
		Content string `json:"content"`
	}
	promptEvent struct {
		Type        string       `json:"type"` // hidden_user_message
		Content     string       `json:"content"`
		Steers      bool         `json:"steers,omitempty"`
		Attachments []promptFile `json:"attachments,omitempty"`
	}
	promptFile struct {
		Name      string `json:"name"`
		Path      string `json:"path,omitempty"`
		First     int    `json:"first,omitempty"`
		Last      int    `json:"last,omitempty"`
		MediaType string `json:"media_type,omitempty"` // of an image
		Data      []byte `json:"data,omitempty"`       // of an image, in base64; for UIs that take deltas
		Size      int    `json:"size,omitempty"`       // of an image or a text, in bytes
	}
	stepStart struct {
		Type   string `json:"type"`
		ID     string `json:"step_id"`
		Title  string `json:"title"`
		Number int    `json:"step_number"`
	}
	toolCall struct {
		Type string `json:"type"`
		Tool string `json:"tool"`
		Args any    `json:"args"`
		ID   string `json:"tool_call_id"`
	}
	toolResult struct {
		Type    string `json:"type"`
		Tool    string `json:"tool"`
		Result  string `json:"result"`
		ID      string `json:"tool_call_id"`
		IsError bool   `json:"is_error,omitempty"`
		Code    string `json:"code,omitempty"` // of the error, such as [event.CodeDenied]
	}
	stepComplete struct {
		Type     string `json:"type"`
		ID       string `json:"step_id"`
		Status   string `json:"status"`
		Duration int64  `json:"duration_ms"`
	}
	compactionStart struct {
		Type      string `json:"type"`
		Timestamp int64  `json:"timestamp"`
	}
	compactionComplete struct {
		Type      string `json:"type"`
		Timestamp int64  `json:"timestamp"`
		Compacted bool   `json:"compacted"`
	}
	preview struct {
		Type string `json:"type"`
		Tool string `json:"tool"`
		ID   string `json:"tool_call_id"`
		Path string `json:"file_path,omitempty"`
		Diff string `json:"diff"`
	}
)

// The events for UIs that take deltas.
type (
	delta struct {
		Type    string     `json:"type"`
		Target  string     `json:"target"` // text, reasoning, tool
		ID      string     `json:"id"`
		Content string     `json:"content"`
		HTML    *htmlDelta `json:"html,omitempty"`
	}
	htmlDelta struct {
		Append string `json:"append"`
		Keep   int    `json:"keep,omitempty"` // UTF-16 units of the previous tail that Tail follows
		Tail   string `json:"tail"`
	}
	windowUsage struct {
		Type       string  `json:"type"`
		Used       int64   `json:"used"`
		Limit      int64   `json:"limit"`
		Multiplier float64 `json:"multiplier"`
	}
	tokenUsage struct {
		Type   string `json:"type"`
		Model  string `json:"model"`
		Input  int64  `json:"input_tokens"`
		Output int64  `json:"output_tokens"`
		Cached int64  `json:"cached_tokens"`
	}
	plan struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Todos []todo `json:"todos"`
	}
	todo struct {
		ID     string          `json:"id"`
		Title  string          `json:"title"`
		Detail string          `json:"detail,omitempty"`
		State  event.TodoState `json:"state"`
	}
	questionAnswered struct {
		Type     string       `json:"type"`
		ID       string       `json:"question_id"`
		By       string       `json:"by"` // "" if nobody answered
		Ending   event.Ending `json:"ending"`
		Approved *bool        `json:"approved,omitempty"` // of questions that are approved or refused
		Reason   string       `json:"reason,omitempty"`
	}
	sessionChange struct {
		Type  string `json:"type"` // model, title
		Model string `json:"model,omitempty"`
		Title string `json:"title,omitempty"`
	}
	permissions struct {
		Type       string            `json:"type"`
		Rules      permission.Policy `json:"rules"`
		Remembered permission.Policy `json:"remembered,omitempty"` // the rules that come from answers
	}
	queue struct {
		Type    string    `json:"type"`
		Waiting []waiting `json:"waiting"`
	}
	waiting struct {
		Run  string `json:"run_id"`
		Text string `json:"text"`
		By   string `json:"by,omitempty"`
	}
	failure struct {
		Type    string     `json:"type"`
		Kind    fault.Kind `json:"kind"`
		Message string     `json:"message"`
		Hint    string     `json:"hint,omitempty"`
	}
	notice struct {
		Type string `json:"type"`
		Kind string `json:"kind"`
		Raw  any    `json:"raw"`
	}
	server struct {
		Type  string            `json:"type"`
		Name  string            `json:"name"`
		State event.ServerState `json:"state"`
		Error string            `json:"error,omitempty"`
	}
	filesRestored struct {
		Type   string            `json:"type"`
		ID     string            `json:"id"`
		Kind   event.RestoreKind `json:"kind"`
		Target string            `json:"target_run_id,omitempty"`
		Undoes string            `json:"undoes,omitempty"`
		Paths  []string          `json:"paths"`
		Files  int               `json:"files"`
		Left   []string          `json:"left,omitempty"`
		By     string            `json:"by"`
	}
	subagentStart struct {
		Type  string `json:"type"`
		Agent string `json:"agent"`
		Call  string `json:"tool_call_id,omitempty"`
		Name  string `json:"name"`
		Title string `json:"title"`
	}
	subagentEnd struct {
		Type      string        `json:"type"`
		Agent     string        `json:"agent"`
		Outcome   event.Outcome `json:"outcome"`
		Error     string        `json:"error,omitempty"`
		Tokens    int64         `json:"tokens"`
		ToolCalls int64         `json:"tool_calls"`
		Duration  int64         `json:"duration_ms"`
	}
)
