package copilot

import (
	"context"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Extensions lists what the agent can use in this session: MCP servers and
// skills, with their state. It works at any time, during a run, too.
func (s *Session) Extensions(ctx context.Context) (agent.Extensions, error) {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l == nil {
		return s.host.Extensions(ctx, s.directory)
	}
	x, err := l.conversation.Extensions(ctx)
	if err != nil {
		return x, because(ctx, l.lease.Agent, err)
	}
	return x, nil
}

// SignIn begins the sign-in to an MCP server of this session that needs one
// ([event.ServerSignIn]), and gives the page that the user has to visit; "" if none is
// needed any more. [event.ServerChanged] tells when it is done. Errors: kind [fault.Invalid]
// for a server that is not there or wants no sign-in, [fault.ErrSessionClosed].
func (s *Session) SignIn(ctx context.Context, server string) (url string, err error) {
	s.mu.Lock()
	l, closed := s.link, s.state() == StateClosed
	s.mu.Unlock()
	switch {
	case closed:
		return "", fault.ErrSessionClosed
	case l == nil: // it was let go or has died; the next prompt brings it back
		return "", fault.Errorf(fault.Busy, "the session has no agent process at the moment: send a prompt, then sign in")
	}
	if url, err = l.conversation.SignIn(ctx, server); err != nil {
		return "", because(ctx, l.lease.Agent, err)
	}
	return url, nil
}
