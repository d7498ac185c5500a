package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/wire"
)

type toolCallParams struct {
	RunID     string       `json:"run_id,omitempty"`
	SessionID string       `json:"session_id"`
	Call      string       `json:"tool_call_id"`
	Name      string       `json:"name"`
	Arguments any          `json:"arguments"`
	Raw       string       `json:"raw_arguments"` // the same as JSON text
	Meta      questionMeta `json:"meta"`
}

// toolCallResult is the answer of a UI, in the portal's form or that of terminal UIs.
type toolCallResult struct {
	Result  json.RawMessage `json:"result"`
	IsError bool            `json:"is_error"`
	OK      *bool           `json:"ok"`
	Error   string          `json:"error"`
}

// tool calls a tool of the UI.
func (r questionRelay) tool(ctx context.Context) (event.Answer, error) {
	var result toolCallResult
	p := toolCallParams{r.run, r.session, r.question.Call, r.question.Tool, jsonrpc.Object(r.question.Arguments), cmp.Or(string(r.question.Arguments), "{}"), r.meta()}
	if err := r.callUI(ctx, "client.tool.call", p, &result); err != nil {
		if refused, ok := err.(*jsonrpc.Error); ok { //nolint:errorlint // it is not wrapped
			return event.Answer{Failed: true, Reason: refused.Message}, nil // the model reads why
		}
		return event.Answer{}, err
	}
	return result.answer(), nil
}

func (r toolCallResult) answer() event.Answer {
	text := resultText(r.Result)
	if r.IsError || r.OK != nil && !*r.OK {
		return event.Answer{Failed: true, Reason: cmp.Or(r.Error, text, "The client's tool failed.")}
	}
	return event.Answer{Text: text}
}

// resultText returns a result as text for people and the model: a text, one of the forms of text,
// or several of them; otherwise JSON.
func resultText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var structured struct {
		Type  string            `json:"type"`
		Text  *string           `json:"text"`
		Value json.RawMessage   `json:"value"`
		Parts []json.RawMessage `json:"parts"`
	}
	if json.Unmarshal(raw, &structured) != nil {
		return string(raw)
	}
	switch s := structured; {
	case s.Type == "text" && s.Text != nil:
		return *s.Text
	case s.Type == "json" && s.Value != nil:
		return string(s.Value)
	case s.Type == "parts" && s.Parts != nil:
		return strings.Join(wire.List(s.Parts, resultText), "\n")
	}
	return string(raw)
}
