package copilot

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
)

// Tools are those of clients that the session has, or will have with its next
// prompt.
func (s *Session) Tools() []event.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tools)
}

// SetTools replaces the tools of clients, for the next prompt and all after it, as
// [event.Prompt.Tools] does. What goes on keeps the old ones. It works for closed sessions,
// too. Errors: kind [fault.Invalid] for tools that cannot be offered, and those of taking a
// session from the store ([fault.ErrSessionInUse], kind [fault.Unavailable]).
func (s *Session) SetTools(ctx context.Context, tools []event.Tool) error {
	if err := event.CheckTools(tools); err != nil {
		return err
	}
	return s.update(ctx, func() { s.replaceTools(tools) })
}

// replaceTools replaces the tools of clients. Agents know tools from the opening of a
// conversation only, so one that has the old ones is let go before the next prompt.
// Called with the lock held.
func (s *Session) replaceTools(tools []event.Tool) {
	if slices.EqualFunc(s.tools, tools, event.Tool.Equal) {
		return
	}
	s.tools = slices.Clone(tools)
	s.storeHead()
	if s.link != nil {
		s.link.toolsOutdated = true
	}
}

// dropOutdatedConversation lets go of a conversation that has other tools than the session.
// Called by the loop before the agent gets a prompt.
func (s *Session) dropOutdatedConversation() {
	s.mu.Lock()
	outdated := s.link != nil && s.link.toolsOutdated
	s.mu.Unlock()
	if outdated {
		s.releaseConversation()
	}
}
