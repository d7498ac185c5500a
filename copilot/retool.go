package copilot

import (
	"bytes"
	"slices"
)

// retool replaces the tools of clients. Agents know tools from the opening of a
// conversation only, so one that has the old ones is let go before the next prompt.
// Called with the lock held.
func (s *Session) retool(tools []Tool) {
	if slices.EqualFunc(s.tools, tools, Tool.equal) {
		return
	}
	s.tools = slices.Clone(tools)
	s.renew()
	if s.link != nil {
		s.link.outdated = true
	}
}

func (t Tool) equal(other Tool) bool {
	return t.Name == other.Name && t.Description == other.Description && t.Limit == other.Limit && bytes.Equal(t.Schema, other.Schema)
}

// dropOutdated lets go of a conversation that has other tools than the session.
// Called by the loop before the agent gets a prompt.
func (s *Session) dropOutdated() {
	s.mu.Lock()
	outdated := s.link != nil && s.link.outdated
	s.mu.Unlock()
	if outdated {
		s.detach()
	}
}
