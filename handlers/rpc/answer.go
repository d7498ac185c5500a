package rpc

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/form"
)

// answerParams name the question by its call or its id, and have the answer.
type answerParams struct {
	SessionID string `json:"sessionId"`
	CallID    string `json:"callId"`
	RequestID string `json:"requestId"`

	form.Answer
}

// answer answers a question of the agent. The session decides whether the answer fits.
func (a *API) answer(ctx context.Context, p answerParams) (any, error) {
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.CallID == "" && p.RequestID == "" {
		return nil, jsonrpc.InvalidParams(`"callId" or "requestId" is missing`)
	}
	answer, err := p.Decode()
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
