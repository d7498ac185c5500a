package copilot

import (
	"context"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Access limits what the caller of a context may use: it sees only one session. [Host.Session], [Host.Sessions] and [Host.Pinned]
// know no other one, [Host.Search] is denied, and [Session.AnswerAs] checks answers. What else a limited caller may call is decided
// where requests are admitted.
type Access struct {
	Session string // the id of the session
	Answers bool   // the caller may answer its questions
}

type accessKey struct{}

// WithAccess returns a context whose caller is limited.
func WithAccess(ctx context.Context, a Access) context.Context {
	return context.WithValue(ctx, accessKey{}, a)
}

// AccessOf returns the limits of the caller; limited is false for callers that may do everything.
func AccessOf(ctx context.Context) (a Access, limited bool) {
	a, limited = ctx.Value(accessKey{}).(Access)
	return a, limited
}

// onlySession lists the session of a limited caller.
func (h *Host) onlySession(ctx context.Context, a Access) ([]Info, error) {
	s, err := h.Session(ctx, a.Session)
	switch {
	case err == nil:
		return []Info{s.Info()}, nil
	case fault.KindOf(err) == fault.NotFound:
		return nil, nil
	}
	return nil, err
}

// Errors of [Session.AnswerAs] for limited callers.
var (
	errMayNotAnswer   = fault.Errorf(fault.Denied, "this link only lets you read the session, not answer its questions")
	errMayNotRemember = fault.Errorf(fault.Denied, "this link lets you answer a question once; what is remembered for the session is decided by its owner")
)

// AnswerAs is [Session.Answer] within the limits of the caller: it may have to leave questions to others, and it must not make rules for
// later ones. Errors: also kind [fault.Denied].
func (s *Session) AnswerAs(ctx context.Context, id string, a event.Answer, by string) error {
	if access, limited := AccessOf(ctx); limited {
		switch {
		case access.Session != s.id:
			return fault.ErrSessionNotFound
		case !access.Answers:
			return errMayNotAnswer
		case a.Remember || a.Scope != "":
			return errMayNotRemember
		}
	}
	return s.Answer(id, a, by)
}
