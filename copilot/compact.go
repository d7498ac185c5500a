package copilot

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// compact makes the agent sum up what was said, before it gets the prompt of the
// run, if there is one. It says whether the run goes on with that.
func (s *Session) compact(ctx context.Context, l *agentLink, r *run) (goesOn bool) {
	err := compactConversation(ctx, l)
	switch {
	case ctx.Err() != nil:
		s.end(r, event.Cancelled)
	case !r.compactsFirst && (err == nil || errors.Is(err, fault.ErrNothingToCompact)):
		return true
	case err == nil:
		s.end(r, event.Completed)
	case agent.IsClosed(l.lease.Agent.Done()):
		s.agentExited(r)
	case fault.KindOf(err) == fault.Timeout:
		s.releaseConversation() // it may still be at it
		fallthrough
	default:
		s.failRun(r, err)
	}
	return false
}

func compactConversation(ctx context.Context, l *agentLink) error {
	ctx, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	err := l.conversation.Compact(ctx)
	if err == nil || errors.Is(err, fault.ErrNothingToCompact) {
		return err
	}
	err = because(ctx, l.lease.Agent, err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.Errorf(fault.Timeout, "the agent did not sum up the conversation within %v", compactTimeout)
	}
	return err
}
