package rpc

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/form"
)

// answerParams answer a question, named by its call or its id: approved (for a plan perhaps with
// the way as answer, for a form with fields), answer alone (also the result of a tool), or failed
// for a tool.
type answerParams struct {
	SessionID string               `json:"sessionId"`
	CallID    string               `json:"callId"`
	RequestID string               `json:"requestId"`
	Approved  *bool                `json:"approved"`
	Remember  bool                 `json:"remember"`
	Scope     permission.ScopeKind `json:"scope"`
	Reason    string               `json:"reason"`
	Answer    *string              `json:"answer"`
	Fields    map[string]any       `json:"fields"`
	Failed    bool                 `json:"failed"`
}

// answer answers a question of the agent. The session decides whether the answer fits.
func (a *API) answer(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p answerParams
	s, err := a.sessionIn(ctx, r, &p, &p.SessionID)
	if err != nil {
		return nil, err
	}
	answer, err := p.answer()
	if err != nil {
		return nil, err
	}
	id := p.RequestID
	if id == "" {
		if id, err = openQuestion(ctx, s, p.CallID); err != nil {
			return nil, err
		}
	}
	if err := s.AnswerAs(ctx, id, answer, Origin); err != nil {
		return nil, err
	}
	if _, limited := copilot.AccessOf(ctx); !limited { // nobody may count on the holder of a link
		s.AddCapabilities(byAnswers())
	}
	return map[string]bool{"answered": true}, nil
}

// answer decodes the answer.
func (p answerParams) answer() (answer event.Answer, err error) {
	if fault := p.fault(); fault != "" {
		return answer, jsonrpc.InvalidParams("%s", fault)
	}
	answer = event.Answer{Remember: p.Remember, Scope: p.Scope, Reason: p.Reason, Failed: p.Failed}
	if p.Approved != nil {
		answer.Approved = *p.Approved
	}
	if p.Answer != nil {
		answer.Text = *p.Answer
	}
	if p.Fields != nil {
		answer.Fields, err = form.Values(p.Fields)
	}
	return answer, err
}

// fault returns what an answer lacks or has too much of: an answer that says nothing or
// contradicts itself is not a refusal.
func (p answerParams) fault() string {
	text, refused := p.Answer != nil, p.Approved != nil && !*p.Approved
	switch {
	case p.CallID == "" && p.RequestID == "":
		return `"callId" or "requestId" is missing`
	case p.Failed:
		return p.excess()
	case p.Approved == nil && !text:
		return `"approved" (true or false), "answer" (text) or "failed" (true) is missing`
	case refused && text:
		return `"answer" goes with "approved": true or stands alone`
	case p.Fields != nil && (p.Approved == nil || refused):
		return `"fields" go with "approved": true`
	}
	return ""
}

// excess is fault for a tool call that failed.
func (p answerParams) excess() string {
	if p.Approved != nil || p.Answer != nil || p.Fields != nil {
		return `"failed" goes with "reason" alone`
	}
	return ""
}

// openQuestion returns the question of a call: the newest open one, otherwise the newest, about
// which the session reports the error.
func openQuestion(ctx context.Context, s *copilot.Session, call string) (id string, err error) {
	entries, _, err := entriesOfRun(ctx, s.Record(), s.Record().Last())
	if err != nil && !errors.Is(err, context.Canceled) {
		return "", fault.Errorf(fault.Unavailable, "the session's record could not be read: %w", err)
	}
	over := ""
	for _, e := range entries {
		switch b := e.Value.Body.(type) {
		case event.QuestionAsked:
			if callOf(b.Question) == call {
				id = b.Question.ID
			}
		case event.QuestionClosed:
			if b.ID == id {
				id, over = "", b.ID
			}
		}
	}
	switch {
	case id != "":
		return id, nil
	case over != "":
		return over, nil
	}
	return "", fault.ErrQuestionNotFound
}
