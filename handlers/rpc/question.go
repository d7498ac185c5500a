package rpc

import (
	"cmp"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/form"
)

type (
	approval struct {
		CallID           string       `json:"callId"`
		ToolName         string       `json:"toolName"`
		Args             any          `json:"args"`
		RequiresApproval bool         `json:"requiresApproval"`
		RequestID        string       `json:"requestId"`
		Permissions      []string     `json:"permissions"` // the requested permissions
		Title            string       `json:"title"`
		Detail           string       `json:"detail"`
		Scopes           []form.Scope `json:"scopes,omitempty"` // the scopes of a remembered answer, narrowest first
	}
	questionData struct {
		RequestID string             `json:"requestId"`
		Kind      event.QuestionKind `json:"kind"`
		Question  string             `json:"question"`
		Choices   []string           `json:"choices,omitempty"`
		Freeform  bool               `json:"freeform"`
		Source    string             `json:"source,omitempty"`
		Fields    []form.Field       `json:"fields,omitzero"`
		URL       string             `json:"url,omitempty"`
	}
	toolRequest struct {
		CallID    string `json:"callId"`
		ToolName  string `json:"toolName"`
		Args      any    `json:"args"`
		RequestID string `json:"requestId"`
	}
	answeredData struct {
		RequestID string `json:"requestId"`
		CallID    string `json:"callId,omitempty"`
		Approved  *bool  `json:"approved,omitempty"` // of a permission or a plan
		By        string `json:"by"`
	}
)

// callOf returns the id by which a client recognizes a question: its call, if it has one.
func callOf(q event.Question) string { return cmp.Or(q.Call, q.ID) }

// question encodes a question.
func (enc *encoder) question(q event.Question) []message {
	switch q.Kind {
	case event.AskPermission:
		return singleEvent("tool.approval", approval{
			CallID: callOf(q), ToolName: enc.toolOf(q), Args: jsonrpc.Object(enc.arguments(q)), RequiresApproval: true,
			RequestID: q.ID, Permissions: q.Names, Title: q.Title, Detail: q.Detail, Scopes: form.Scopes(q.Scopes),
		})
	case event.AskTool:
		return singleEvent("tool.request", toolRequest{callOf(q), q.Tool, jsonrpc.Object(enc.arguments(q)), q.ID})
	case event.AskInput, event.AskForm, event.AskPlan, event.AskSignIn:
	}
	encoded := questionData{
		RequestID: q.ID, Kind: q.Kind, Question: q.Text, Choices: q.Choices, Freeform: q.Freeform, Source: q.Source, URL: q.URL,
	}
	if q.Kind == event.AskForm {
		encoded.Fields = form.Fields(q.Form)
	}
	return singleEvent("question", encoded)
}

// toolOf returns the tool of a permission: a client tool by its own name.
func (enc *encoder) toolOf(q event.Question) string {
	name := cmp.Or(q.Tool, enc.calls[q.Call].Name)
	if name == "" && len(q.Names) > 0 {
		name = q.Names[0]
	}
	return name
}

// answered encodes the end of a question, and the failure of a callback.
func (enc *encoder) answered(b event.QuestionClosed) []message {
	q := enc.asked[b.ID]
	encoded := answeredData{RequestID: b.ID, CallID: q.Call, By: string(b.Ending)}
	delete(enc.asked, b.ID)
	if b.Ending == event.Answered {
		encoded.By = b.By
		if b.Kind == event.AskPermission || b.Kind == event.AskPlan {
			encoded.Approved = &b.Answer.Approved
		}
	}
	messages := singleEvent("question.answered", encoded)
	if b.By == copilot.ByNobody {
		return append(unattended(q, b), messages...)
	}
	if b.By == byPlugin && strings.HasPrefix(b.Answer.Reason, faultPrefix) {
		messages = append(singleEvent("error", failure{codeTool, toolFailed, b.Answer.Reason}), messages...)
	}
	return messages
}

// unattended encodes a question that was decided because no client could answer: the error says
// what to do, and the answer repeats it for the plugin, which shows only texts.
func unattended(q event.Question, b event.QuestionClosed) []message {
	why := strings.TrimSpace(cmp.Or(q.Title, q.Text, "A question") + ": " + b.Answer.Reason)
	const remedy = " Give the session a callbackUrl, answer with question.answer, or change sidecar.unattended and permissions.headless."
	return []message{
		{event: "error", data: failure{codeTool, toolFailed, why + remedy}},
		{event: "timeline.message", data: timelineMessage{Type: "text", Role: "assistant", Content: "\n\n[" + why + "]\n\n", MessageID: b.ID}},
	}
}
