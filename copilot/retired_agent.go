package copilot

import (
	"context"
	"time"
)

// How long the agent gets to say whether a session may move, and until the next
// attempt when it may not.
const (
	moveTimeout = 2 * time.Second
	moveRetry   = 30 * time.Second
)

// retired is closed when the process of the conversation is to be replaced; nil, which blocks, without a conversation or while it has
// to stay.
func (s *Session) retired() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil || time.Now().Before(s.link.staysUntil) {
		return nil
	}
	return s.link.lease.Retired
}

// retiredBetweenRuns is retired while no run goes on, else nil.
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

// moveIfIdle releases a conversation whose process is to be replaced; the next run opens it on another. Called by the loop while the
// agent has no prompt. While the agent works by itself, asks, or has commands in the background, the conversation stays.
func (s *Session) moveIfIdle(ctx context.Context) {
	l := s.currentLink()
	select {
	case s.gate <- struct{}{}: // else the model is being changed
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

// isConversationIdle says whether nothing would be lost if a conversation were closed.
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
