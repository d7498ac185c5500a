package mcp

import (
	"cmp"
	"context"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/form"
)

// question is an open question of the agent.
type question struct {
	QuestionID string             `json:"questionId"`
	Kind       event.QuestionKind `json:"kind" jsonschema:"permission, plan, sign-in, form: answer with approved; input: answer with text"`
	Title      string             `json:"title"`
	Detail     string             `json:"detail,omitempty" jsonschema:"the whole command, diff, address or plan"`
	Names      []string           `json:"names,omitempty" jsonschema:"the permissions asked for"`
	Scopes     []form.Scope       `json:"scopes,omitempty" jsonschema:"how far a remembered answer may reach, narrowest first"`
	Choices    []string           `json:"choices,omitempty"`
	Freeform   bool               `json:"freeform,omitempty" jsonschema:"texts other than the choices are allowed"`
	Source     string             `json:"source,omitempty" jsonschema:"the MCP server that asks"`
	URL        string             `json:"url,omitempty" jsonschema:"the page to visit"`
	Fields     []form.Field       `json:"fields,omitempty" jsonschema:"the fields of the form"`
}

func describe(q event.Question) question {
	d := question{
		QuestionID: q.ID, Kind: q.Kind, Title: cmp.Or(q.Title, q.Text), Detail: q.Detail, Names: q.Names, Choices: q.Choices,
		Freeform: q.Freeform, Source: q.Source, URL: q.URL,
	}
	if len(q.Scopes) > 0 {
		d.Scopes = form.Scopes(q.Scopes)
	}
	if q.Kind == event.AskPlan {
		d.Title, d.Detail = q.Subject(), q.Text
	}
	if q.Form != nil {
		d.Fields = form.Fields(q.Form)
	}
	return d
}

type answerArgs struct {
	SessionID   string               `json:"sessionId"`
	QuestionID  string               `json:"questionId"`
	Approved    *bool                `json:"approved,omitempty" jsonschema:"whether a permission, plan, sign-in or form is approved"`
	Text        string               `json:"text,omitempty" jsonschema:"the answer to an input, or the choice of an approved plan"`
	Fields      map[string]any       `json:"fields,omitempty" jsonschema:"the values of an approved form, by name"`
	Remember    bool                 `json:"remember,omitempty" jsonschema:"repeat the answer for the rest of the session, within the scope"`
	Scope       permission.ScopeKind `json:"scope,omitempty" jsonschema:"kind of one of the scopes; default: the narrowest"`
	Reason      string               `json:"reason,omitempty" jsonschema:"why it is refused; the agent reads it"`
	WaitSeconds *float64             `json:"waitSeconds,omitempty" jsonschema:"how long to wait afterwards; default 50, at most 3600, 0 returns at once"`
}

// decode returns the answer. The session checks whether it fits the question.
func (in answerArgs) decode() (event.Answer, error) {
	if in.Approved == nil && in.Text == "" && in.Reason == "" {
		return event.Answer{}, fault.Errorf(fault.Invalid, "give approved (true or false) or text")
	}
	answer := event.Answer{Text: in.Text, Remember: in.Remember, Scope: in.Scope, Reason: in.Reason}
	answer.Approved = in.Approved != nil && *in.Approved
	if in.Fields == nil {
		return answer, nil
	}
	if !answer.Approved {
		return event.Answer{}, fault.Errorf(fault.Invalid, "fields go with approved: true")
	}
	fields, err := form.Values(in.Fields)
	answer.Fields = fields
	return answer, err
}

func (a *API) answer(ctx context.Context, c call, in answerArgs) (result, error) {
	deadline, err := newDeadline(in.WaitSeconds)
	if err != nil {
		return result{}, err
	}
	answer, err := in.decode()
	if err != nil {
		return result{}, err
	}
	s, err := a.options.Host.Session(ctx, in.SessionID)
	if err != nil {
		return result{}, err
	}
	if err := a.checkBelow(ctx, c, s); err != nil {
		return result{}, err
	}
	if err := s.AnswerAs(ctx, in.QuestionID, answer, Origin); err != nil {
		return result{}, err
	}
	return a.watch(ctx, c, s, "", deadline)
}
