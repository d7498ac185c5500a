package rest

import (
	"cmp"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/form"
)

// Names of requests that are answered like permissions.
const (
	namePlan   = "plan"
	nameSignIn = "sign-in"
)

type (
	onPermissionRequest struct {
		Callback  string `json:"callback"`
		RequestID string `json:"requestId"`
		Name      string `json:"name"`
		Title     string `json:"title"`
		Detail    string `json:"detail"`
		// All permissions asked for, if name is not the only one. Remembering covers all of them.
		Names []string `json:"names,omitempty"`
		// Offered reaches of a remembered answer, narrowest first.
		Scopes []form.Scope `json:"scopes,omitempty"`
		// Choices belong to plans only, URL to sign-ins only.
		Choices []string `json:"choices,omitzero"`
		URL     string   `json:"url,omitempty"`
	}
	onUserInputRequest struct {
		Callback  string   `json:"callback"`
		RequestID string   `json:"requestId"`
		Question  string   `json:"question"`
		Choices   []string `json:"choices,omitempty"`
		Freeform  bool     `json:"freeform"`
	}
	onFormRequest struct {
		Callback  string       `json:"callback"`
		RequestID string       `json:"requestId"`
		Source    string       `json:"source,omitempty"`
		Message   string       `json:"message"`
		Fields    []form.Field `json:"fields"`
	}
	onQuestionAnswered struct {
		Callback  string `json:"callback"`
		RequestID string `json:"requestId"`
		By        string `json:"by"`
	}
)

// encodeQuestion returns nil for calls of client tools, which this dialect does not report.
func encodeQuestion(q event.Question) any {
	request := onPermissionRequest{Callback: "onPermissionRequest", RequestID: q.ID}
	switch q.Kind {
	case event.AskInput:
		return onUserInputRequest{"onUserInputRequest", q.ID, q.Text, q.Choices, q.Freeform}
	case event.AskForm:
		return onFormRequest{"onFormRequest", q.ID, q.Source, q.Text, form.Fields(q.Form)}
	case event.AskTool:
		return nil
	case event.AskPlan:
		request.Name, request.Title, request.Detail = namePlan, cmp.Or(q.Title, "The plan"), q.Text
		request.Choices = append([]string{}, q.Choices...) // never absent
	case event.AskSignIn:
		request.Name, request.Title = nameSignIn, cmp.Or(q.Source, "The agent")+" asks you to visit a page"
		request.Detail, request.URL = strings.TrimSpace(q.Text+"\n"+q.URL), q.URL
	case event.AskPermission:
		request.Title, request.Detail, request.Scopes = q.Title, q.Detail, form.Scopes(q.Scopes)
		if len(q.Names) > 0 {
			request.Name = q.Names[0]
		}
		if len(q.Names) > 1 {
			request.Names = q.Names
		}
	}
	return request
}

func answeredBy(b event.QuestionClosed) string {
	if b.Ending == event.Answered {
		return b.By
	}
	return string(b.Ending)
}
