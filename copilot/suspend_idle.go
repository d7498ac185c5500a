package copilot

import (
	"math"
	"time"

	"github.com/copilot-portal/portal/copilot/session"
)

// suspendAfter is how long a session must be idle to be suspended. Without a store it never is.
func (h *Host) suspendAfter() time.Duration {
	switch {
	case h.recorder == nil:
		return math.MaxInt64
	case h.draining.Load():
		return drainAfter
	}
	return h.options.Limits.Idle
}

// suspend suspends the session, unless it is in use or the agent works in the background, which would end with its conversation. The
// loop calls it.
func (s *Session) suspend() (suspended bool) {
	select {
	case s.gate <- struct{}{}:
		defer func() { <-s.gate }()
	default: // the session is being changed
		return false
	}
	if s.isRunning() || s.isShipping() || !s.canReleaseConversation() {
		return false
	}
	s.input(func(m *session.Machine) { suspended = m.Suspend() })
	if !suspended {
		return false
	}
	s.releaseConversation()
	s.input((*session.Machine).Suspended)
	s.host.sessionClosed()
	s.requestRelease()
	return true
}

// canReleaseConversation reports whether the conversation, if there is one, can be closed without a loss.
func (s *Session) canReleaseConversation() bool {
	l := s.currentLink()
	if l == nil {
		return true
	}
	ctx, cancel := s.interruptible()
	defer cancel()
	return s.isConversationIdle(ctx, l)
}
