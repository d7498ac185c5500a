package copilot

import (
	"errors"
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// steer puts a prompt into the current run. Called with the lock held.
func (s *Session) steer(p event.Prompt) (run string, err error) {
	if len(s.run.steers) >= maxQueue {
		return "", fault.Errorf(fault.Busy, "%d prompts wait already; try again when the agent has read some", maxQueue)
	}
	if s.run.pending != nil && s.link == nil { // its agent does not run yet; until then it would be nowhere
		return s.submit(p)
	}
	p.RefuseIfBusy, p.Tools = false, nil
	s.run.steers = append(s.run.steers, p)
	s.deliverSteers(s.run)
	return s.run.id, nil
}

// deliverSteers gives the agent what steers a run, one after another. Called with the
// lock held.
func (s *Session) deliverSteers(r *run) {
	l := s.link
	if r.steering || !s.steerable(l, r) {
		return
	}
	r.steering = true
	s.pendingReplies.Go(func() {
		for p, ok := s.nextSteer(l, r); ok; p, ok = s.nextSteer(l, r) {
			s.steered(l, r, p, sendSteer(l, r, p))
		}
	})
}

// steerable says whether there is something for the agent to read, and whether
// it would. Called with the lock held.
func (s *Session) steerable(l *agentLink, r *run) bool {
	goes := s.run == r && r.acceptedByAgent && !r.cancelled && r.idle == nil
	return goes && len(r.steers) > 0 && s.isCurrentLink(l)
}

// isCurrentLink says whether l is still the conversation. Called with the lock held.
func (s *Session) isCurrentLink(l *agentLink) bool {
	return l != nil && s.link == l && !agent.IsClosed(l.lease.Agent.Done())
}

// nextSteer gives the next prompt, or carries out the end of the run, which has
// waited for the last one.
func (s *Session) nextSteer(l *agentLink, r *run) (p event.Prompt, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.steerable(l, r) {
		r.steering = false
		if r.idle != nil {
			s.endRunIdle(r, *r.idle)
		}
		return event.Prompt{}, false
	}
	p, r.steers = r.steers[0], r.steers[1:]
	return p, true
}

func sendSteer(l *agentLink, r *run, p event.Prompt) error {
	ctx, cancel := l.callContext(r.stopping)
	defer cancel()
	if err := l.conversation.Send(ctx, p); err != nil {
		return because(ctx, l.lease.Agent, err)
	}
	return nil
}

// steered records a prompt that the agent has taken. One that came too late for
// its run, or was lost with its link, waits for the end of the run to get one of
// its own. Until the goroutine has it, the agent cannot end the run, see
// [Session.agentIdle].
func (s *Session) steered(l *agentLink, r *run, p event.Prompt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.run != r && err != nil: // given up, and the agent does not have it
		_, _ = s.enqueue(newRun(p)) // a closed session or a full queue: the client has long gone on
	case s.run != r:
	case err == nil:
		s.append("", event.UserMessage{Prompt: p})
	case errors.Is(err, fault.ErrIdle):
		r.acceptedByAgent = false // nothing that follows would be read
		fallthrough
	case r.cancelled, s.closed, !s.isCurrentLink(l):
		r.steers = slices.Insert(r.steers, 0, p)
	default:
		s.fail("", failed(fault.Errorf(fault.KindOf(err), "the prompt did not reach the agent: %w", err)))
	}
}

// requeueSteers makes runs of the prompts that their run did not live to see.
func requeueSteers(r *run) []*run {
	runs := make([]*run, 0, len(r.steers))
	for _, p := range r.steers {
		runs = append(runs, newRun(p))
	}
	r.steers = nil
	return runs
}
