package copilot

import (
	"context"
	"math"
	"time"
)

// suspendAfter is how long nothing happens in a session until it may be put at
// rest. Without a store it never is: nobody would gain by it.
func (h *Host) suspendAfter() time.Duration {
	if h.recorder == nil {
		return math.MaxInt64
	}
	return h.options.Limits.Idle
}

// suspend puts the session at rest, unless it is needed or the agent has
// something in the background that would end with it. Called by the loop, which
// ends then.
func (s *Session) suspend(ctx context.Context) bool {
	select {
	case s.gate <- struct{}{}:
		defer func() { <-s.gate }()
	default: // it is being changed
		return false
	}
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil && !s.isConversationIdle(ctx, l) {
		return false
	}
	s.mu.Lock()
	if s.run != nil || s.closed || len(s.questions) > 0 {
		s.mu.Unlock()
		return false
	}
	s.closed, s.suspended = true, true // nobody gives it a prompt from here on
	s.mu.Unlock()
	s.releaseConversation()
	s.host.sessionClosed()
	s.requestRelease()
	return true
}
