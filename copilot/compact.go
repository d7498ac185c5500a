package copilot

import (
	"context"
	"errors"
)

// compact makes the agent sum up what was said, before it gets the prompt of the
// run, if there is one. It says whether the run goes on with that.
func (s *Session) compact(ctx context.Context, l *link, r *run) (goesOn bool) {
	err := sumUp(ctx, l)
	switch {
	case ctx.Err() != nil:
		s.end(r, Cancelled)
	case !r.compacts && (err == nil || errors.Is(err, ErrNothingToCompact)):
		return true
	case err == nil:
		s.end(r, Completed)
	case isClosed(l.lease.Agent.Done()):
		s.lose(r)
	case KindOf(err) == Timeout:
		s.detach() // it may still be at it
		fallthrough
	default:
		s.giveUp(r, err)
	}
	return false
}

func sumUp(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	err := l.conversation.Compact(ctx)
	if err == nil || errors.Is(err, ErrNothingToCompact) {
		return err
	}
	err = because(ctx, l.lease.Agent, err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Errorf(Timeout, "the agent did not sum up the conversation within %v", compactTimeout)
	}
	return err
}
