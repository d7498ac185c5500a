package event

import (
	"encoding/json"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// The forms in which bodies are written. They have the fields of their bodies,
// in the same order, so that one converts to the other.
type (
	nothing struct{}
	named   struct {
		ID string `json:"id,omitzero"`
	}
	said struct {
		ID   string `json:"id,omitzero"`
		Text string `json:"text,omitzero"`
	}
	ended struct {
		ID   string `json:"id,omitzero"`
		Text string `json:"text,omitzero"`
		Cut  bool   `json:"cut,omitzero"`
	}
	sessionOpened struct {
		Model     string `json:"model,omitzero"`
		Directory string `json:"directory,omitzero"`
	}
	sessionFailed struct {
		Kind fault.Kind `json:"kind,omitzero"`
		Text string     `json:"text,omitzero"`
		Hint string     `json:"hint,omitzero"`
		Exit string     `json:"exit,omitzero"`
	}
	policyChanged struct {
		Rules      permission.Policy `json:"rules,omitzero"`
		Remembered permission.Policy `json:"remembered,omitzero"`
	}
	modelChanged struct {
		Model string `json:"model,omitzero"`
	}
	titleChanged struct {
		Title string `json:"title,omitzero"`
	}
	usageChanged struct {
		Used       int64   `json:"used,omitzero"`
		Limit      int64   `json:"limit,omitzero"`
		Multiplier float64 `json:"multiplier,omitzero"`
	}
	modelCalled struct {
		Model  string `json:"model,omitzero"`
		Input  int64  `json:"input,omitzero"`
		Output int64  `json:"output,omitzero"`
		Cached int64  `json:"cached,omitzero"`
	}
	compactionStarted struct {
		Used int64 `json:"used,omitzero"`
	}
	compactionEnded struct {
		Before  int64  `json:"before,omitzero"`
		After   int64  `json:"after,omitzero"`
		Summary string `json:"summary,omitzero"`
		Error   string `json:"error,omitzero"`
	}
	runEnded struct {
		Outcome Outcome `json:"outcome,omitzero"`
		Text    string  `json:"text,omitzero"`
	}
	idle struct {
		Aborted bool `json:"aborted,omitzero"`
	}
	notice struct {
		Kind string          `json:"kind,omitzero"`
		Raw  json.RawMessage `json:"raw,omitempty"`
	}
)

type (
	toolStarted struct {
		ID        string          `json:"id,omitzero"`
		Parent    string          `json:"parent,omitzero"`
		Name      string          `json:"name,omitzero"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}
	toolEnded struct {
		ID     string      `json:"id,omitzero"`
		Result *toolResult `json:"result,omitzero"`
		Error  *toolError  `json:"error,omitzero"`
	}
	toolResult struct {
		Content string `json:"content,omitzero"`
		Detail  string `json:"detail,omitzero"`
	}
	toolError struct {
		Text string `json:"text,omitzero"`
		Code string `json:"code,omitzero"`
	}
	planChanged struct {
		Text  string `json:"text,omitzero"`
		Todos []todo `json:"todos,omitzero"`
	}
	todo struct {
		ID     string    `json:"id,omitzero"`
		Title  string    `json:"title,omitzero"`
		Detail string    `json:"detail,omitzero"`
		State  TodoState `json:"state,omitzero"`
		After  []string  `json:"after,omitzero"`
	}
	subagentStarted struct {
		ID    string `json:"id,omitzero"`
		Call  string `json:"call,omitzero"`
		Name  string `json:"name,omitzero"`
		Title string `json:"title,omitzero"`
	}
	subagentEnded struct {
		ID        string        `json:"id,omitzero"`
		Outcome   Outcome       `json:"outcome,omitzero"`
		Error     string        `json:"error,omitzero"`
		Tokens    int64         `json:"tokens,omitzero"`
		ToolCalls int64         `json:"tool_calls,omitzero"`
		Duration  time.Duration `json:"duration_ns,omitzero"`
	}
	serverChanged struct {
		Server server `json:"server,omitzero"`
	}
	server struct {
		Name      string      `json:"name,omitzero"`
		State     ServerState `json:"state,omitzero"`
		Source    string      `json:"source,omitzero"`
		Transport string      `json:"transport,omitzero"`
		Error     string      `json:"error,omitzero"`
	}
)

type (
	queueChanged struct {
		Waiting []waiting `json:"waiting,omitzero"`
	}
	waiting struct {
		Run  string `json:"run,omitzero"`
		Text string `json:"text,omitzero"`
		By   string `json:"by,omitzero"`
	}
	userMessage struct {
		Text        string          `json:"text,omitzero"`
		Mode        Mode            `json:"mode,omitzero"`
		Attachments []attachment    `json:"attachments,omitzero"`
		Steer       bool            `json:"steer,omitzero"`
		Compact     bool            `json:"compact,omitzero"`
		By          string          `json:"by,omitzero"`
		Meta        json.RawMessage `json:"meta,omitempty"`
	}
	attachment struct {
		Path   string `json:"path,omitzero"`
		First  int    `json:"first,omitzero"`
		Last   int    `json:"last,omitzero"`
		Symbol string `json:"symbol,omitzero"`
		Name   string `json:"name,omitzero"`
		Text   string `json:"text,omitzero"`
		Data   []byte `json:"data,omitzero"`
		Type   string `json:"type,omitzero"`
	}
)

func userMessageForm(b UserMessage) userMessage {
	p := b.Prompt
	attachments := mapSlice(p.Attachments, func(a Attachment) attachment { return attachment(a) })
	return userMessage{p.Text, p.Mode, attachments, p.Steer, p.Compact, p.By, validJSON(p.Meta)}
}

func (w userMessage) body() Body {
	attachments := mapSlice(w.Attachments, func(a attachment) Attachment { return Attachment(a) })
	return UserMessage{Prompt{
		Text: w.Text, Mode: w.Mode, Attachments: attachments, Steer: w.Steer, Compact: w.Compact, By: w.By, Meta: w.Meta,
	}}
}
