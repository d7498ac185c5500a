package copilot

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
)

// Tools returns the client tools of the session, as of its next prompt.
func (s *Session) Tools() []event.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.settings.Tools)
}

// SetTools replaces the client tools from the next prompt on, like [event.Prompt.Tools]. The current run keeps the old ones.
// It also works for closed sessions. Errors: kind [fault.Invalid] for invalid tools and for an agent that can use none, [fault.ErrSessionInUse], kind
// [fault.Unavailable].
func (s *Session) SetTools(ctx context.Context, tools []event.Tool) error {
	return s.host.commands.setTools.effect(ctx, s, tools)
}

func (s *Session) setToolsHere(ctx context.Context, tools []event.Tool) error {
	if err := event.CheckTools(tools); err != nil {
		return err
	}
	a, err := s.agentPool()
	if err == nil {
		err = a.requireTools(tools)
	}
	if err != nil {
		return err
	}
	return s.update(ctx, func() { s.replaceTools(tools) })
}

// replaceTools replaces the client tools. Agents receive tools only when they open a conversation, so a conversation with the old tools is
// released before the next prompt. The caller must hold the lock.
func (s *Session) replaceTools(tools []event.Tool) {
	if s.link != nil && !slices.EqualFunc(s.settings.Tools, tools, event.Tool.Equal) {
		s.link.outdated = true
	}
	s.settings.Tools = slices.Clone(tools)
	s.storeHead()
}

// dropOutdatedConversation releases a conversation that the next prompt cannot use. The loop calls it before the agent gets a
// prompt.
func (s *Session) dropOutdatedConversation() {
	s.mu.Lock()
	outdated := s.link != nil && s.link.outdated || s.serversOutdated() || s.link != nil && !s.link.usesFiles && s.usesFiles()
	s.mu.Unlock()
	if outdated {
		s.releaseConversation()
	}
}
