package copilot

import (
	"context"
	"time"
)

// The time limit for the agent to report whether a session may move, and the time until the next
// attempt if it may not.
const (
	moveTimeout = 2 * time.Second
	moveRetry   = 30 * time.Second
)

// retired returns a channel that is closed when the process of the conversation must be replaced; nil, which blocks, without a
// conversation or while it must stay.
func (s *Session) retired() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil || time.Now().Before(s.link.staysUntil) {
		return nil
	}
	return s.link.lease.Retired
}

// retiredBetweenRuns is retired between runs, and nil during a run.
func (s *Session) retiredBetweenRuns() <-chan struct{} {
	if s.isRunning() {
		return nil
	}
	return s.retired()
}

func (s *Session) isRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.Run() != nil
}

// leaveRetiredAgent moves an idle session to another process.
func (s *Session) leaveRetiredAgent() {
	ctx, cancel := s.interruptible()
	defer cancel()
	s.moveIfIdle(ctx)
}

// moveIfIdle releases a conversation whose process must be replaced; the next run opens it on another. The loop calls it while the
// agent has no prompt. The conversation stays while the agent works on its own, asks, or runs background commands.
func (s *Session) moveIfIdle(ctx context.Context) {
	l := s.currentLink()
	select {
	case s.gate <- struct{}{}: // otherwise the model is being changed
		defer func() { <-s.gate }()
		if s.isConversationIdle(ctx, l) {
			s.releaseConversation()
			return
		}
	default:
	}
	l.staysUntil = time.Now().Add(moveRetry)
	time.AfterFunc(moveRetry, s.wakeLoop)
}

// isConversationIdle reports whether closing the conversation loses nothing.
func (s *Session) isConversationIdle(ctx context.Context, l *agentLink) bool {
	if s.isAsking() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	working, err := l.conversation.Working(ctx)
	if err != nil || working {
		return false
	}
	background, err := l.conversation.Background(ctx)
	return err == nil && !background
}
