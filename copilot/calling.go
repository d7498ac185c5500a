package copilot

import (
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
)

// Calling lists the sessions of this process whose agent is calling a tool that match accepts by its name.
func (h *Host) Calling(match func(tool string) bool) (list []*Session) {
	h.mu.Lock()
	sessions := make([]*Session, 0, len(h.sessions))
	for _, s := range h.sessions {
		sessions = append(sessions, s)
	}
	h.mu.Unlock()
	return slices.DeleteFunc(sessions, func(s *Session) bool { return !s.isCalling(match) })
}

func (s *Session) isCalling(match func(tool string) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.blocks.Open(), func(b event.Block) bool {
		call, isCall := b.Start.(event.ToolStarted)
		return isCall && match(call.Name)
	})
}
