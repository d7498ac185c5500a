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
		Permissions      []string     `json:"permissions"` // what is asked for
		Title            string       `json:"title"`
		Detail           string       `json:"detail"`
		Scopes           []form.Scope `json:"scopes,omitempty"` // how far the answer can reach if it is remembered, narrowest first
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

// callOf is by what a client knows a question again: its call, if it has one.
func callOf(q event.Question) string { return cmp.Or(q.Call, q.ID) }

// question tells what the agent wants to know, or to have done.
func (t *encoder) question(q event.Question) []message {
	switch q.Kind {
	case event.AskPermission:
		return singleEvent("tool.approval", approval{
			CallID: callOf(q), ToolName: t.toolOf(q), Args: jsonrpc.Object(t.arguments(q)), RequiresApproval: true,
			RequestID: q.ID, Permissions: q.Names, Title: q.Title, Detail: q.Detail, Scopes: form.Scopes(q.Scopes),
		})
	case event.AskTool:
		return singleEvent("tool.request", toolRequest{callOf(q), q.Tool, jsonrpc.Object(t.arguments(q)), q.ID})
	case event.AskInput, event.AskForm, event.AskPlan, event.AskSignIn:
	}
	told := questionData{
		RequestID: q.ID, Kind: q.Kind, Question: q.Text, Choices: q.Choices, Freeform: q.Freeform, Source: q.Source, URL: q.URL,
	}
	if q.Kind == event.AskForm {
		told.Fields = form.Fields(q.Form)
	}
	return singleEvent("question", told)
}

// toolOf names the tool of a permission: a client's by its own name.
func (t *encoder) toolOf(q event.Question) string {
	name := cmp.Or(q.Tool, t.calls[q.Call].Name)
	if name == "" && len(q.Names) > 0 {
		name = q.Names[0]
	}
	return name
}

// answered tells the end of a question, and what became of a call-back that
// failed.
func (t *encoder) answered(b event.QuestionClosed) []message {
	q := t.asked[b.ID]
	told := answeredData{RequestID: b.ID, CallID: q.Call, By: string(b.Ending)}
	delete(t.asked, b.ID)
	if b.Ending == event.Answered {
		told.By = b.By
		if b.Kind == event.AskPermission || b.Kind == event.AskPlan {
			told.Approved = &b.Answer.Approved
		}
	}
	messages := singleEvent("question.answered", told)
	if b.By == copilot.ByNobody {
		return append(unattended(q, b), messages...)
	}
	if b.By == byPlugin && strings.HasPrefix(b.Answer.Reason, faultPrefix) {
		messages = append([]message{{"error", failure{codeTool, toolFailed, b.Answer.Reason}}}, messages...)
	}
	return messages
}

// unattended tells that a question was decided because nobody could answer it: the error has what to do about it, and the
// plugin, which shows texts alone, has it in the answer.
func unattended(q event.Question, b event.QuestionClosed) []message {
	why := strings.TrimSpace(cmp.Or(q.Title, q.Text, "A question") + ": " + b.Answer.Reason)
	const remedy = " Give the session a callbackUrl, answer with question.answer, or change sidecar.unattended and permissions.headless."
	return []message{
		{"error", failure{codeTool, toolFailed, why + remedy}},
		{"timeline.message", timelineMessage{Type: "text", Role: "assistant", Content: "\n\n[" + why + "]\n\n", MessageID: b.ID}},
	}
}
