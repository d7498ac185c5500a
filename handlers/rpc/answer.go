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

// answerParams name a question by its call or by itself, and answer it:
// approved, of a plan perhaps with the way as answer, of a form with fields; or
// answer alone, also as the result of a tool; or failed of a tool.
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

// answer answers a question of the agent. Whether the answer fits it is for the
// session to say.
func (a *API) answer(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p answerParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	s, err := a.session(ctx, p.SessionID)
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
	if err := s.Answer(id, answer, Origin); err != nil {
		return nil, err
	}
	s.AddCapabilities(byAnswers())
	return map[string]bool{"answered": true}, nil
}

// answer reads what was said.
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

// fault says what an answer lacks, or has too much of: what says nothing, or
// contradicts itself, must not be taken for a refusal.
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

// excess is fault for the call of a tool that failed.
func (p answerParams) excess() string {
	if p.Approved != nil || p.Answer != nil || p.Fields != nil {
		return `"failed" goes with "reason" alone`
	}
	return ""
}

// openQuestion finds the question that belongs to a call: the newest that is
// open, or else the newest, of which the session says what is wrong.
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
