package copilot

import (
	"context"
	"math"
	"time"
)

// idleAfter is how long nothing happens in a session until it may be put at
// rest. Without a store it never is: nobody would gain by it.
func (h *Host) idleAfter() time.Duration {
	if h.recorder == nil {
		return math.MaxInt64
	}
	return h.options.Limits.Idle
}

// lieDown puts the session at rest, unless it is needed or the agent has
// something in the background that would end with it. Called by the loop, which
// ends then.
func (s *Session) lieDown(ctx context.Context) bool {
	select {
	case s.gate <- struct{}{}:
		defer func() { <-s.gate }()
	default: // it is being changed
		return false
	}
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil && !s.isAtRest(ctx, l) {
		return false
	}
	s.mu.Lock()
	if s.run != nil || s.closed || len(s.questions) > 0 {
		s.mu.Unlock()
		return false
	}
	s.closed, s.rests = true, true // nobody gives it a prompt from here on
	s.mu.Unlock()
	s.detach()
	s.host.tidy()
	s.letGo()
	return true
}
