package copilot

import (
	"context"
	"errors"
)

// compact makes the agent sum up what was said.
func (s *Session) compact(ctx context.Context, l *link, r *run) {
	err := sumUp(ctx, l)
	switch {
	case err == nil:
		s.end(r, Completed)
	case ctx.Err() != nil:
		s.end(r, Cancelled)
	case isClosed(l.lease.Agent.Done()):
		s.lose(r)
	case KindOf(err) == Timeout:
		s.detach() // it may still be at it
		fallthrough
	default:
		s.giveUp(r, err)
	}
}

func sumUp(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	err := l.conversation.Compact(ctx)
	if err == nil {
		return nil
	}
	err = because(ctx, l.lease.Agent, err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Errorf(Timeout, "the agent did not sum up the conversation within %v", compactTimeout)
	}
	return err
}
