package copilot

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Extensions lists what the agent can use in this session: MCP servers and
// skills, with their state. It works at any time, including during a run.
func (s *Session) Extensions(ctx context.Context) (agent.Extensions, error) {
	return s.host.commands.extensions.run(ctx, s, none{})
}

func (s *Session) extensionsHere(ctx context.Context, _ none) (agent.Extensions, error) {
	l := s.currentLink()
	if l == nil {
		return s.storedExtensions(ctx)
	}
	x, err := l.conversation.Extensions(ctx)
	if err != nil {
		return x, because(ctx, l.lease.Agent, err)
	}
	return x, nil
}

// storedExtensions lists what a new conversation of the session's agent could use.
func (s *Session) storedExtensions(ctx context.Context) (x agent.Extensions, err error) {
	if err := CheckDirectory(s.directory); err != nil {
		return x, err
	}
	if !slices.Contains(s.Capabilities(), agent.Storing) {
		return x, nil
	}
	_, lease, err := s.acquireAgent(ctx)
	if err != nil {
		return x, err
	}
	defer lease.Release()
	return lease.Agent.Extensions(ctx, s.directory)
}

// SignIn starts the sign-in to an MCP server of this session that needs one
// ([event.ServerSignIn]), and returns the page that the user has to visit; "" if the server no longer needs
// one. [event.ServerChanged] reports its completion. Errors: kind [fault.Invalid]
// for a server that is unknown or needs no sign-in and for an agent that stores none, [fault.ErrSessionClosed].
func (s *Session) SignIn(ctx context.Context, server string) (url string, err error) {
	return s.host.commands.signIn.run(ctx, s, server)
}

func (s *Session) signInHere(ctx context.Context, server string) (url string, err error) {
	a, err := s.agentPool()
	switch {
	case err != nil:
		return "", err
	case !a.can(agent.Storing):
		return "", agent.Cannot(a.Name, agent.SigningIn)
	}
	l := s.currentLink()
	switch {
	case s.Info().State == StateClosed:
		return "", fault.ErrSessionClosed
	case l == nil: // released or dead; the next prompt opens the conversation again
		return "", fault.Errorf(fault.Busy, "the session has no agent process at the moment: send a prompt, then sign in")
	}
	if url, err = l.conversation.SignIn(ctx, server); err != nil {
		return "", because(ctx, l.lease.Agent, err)
	}
	return url, nil
}
