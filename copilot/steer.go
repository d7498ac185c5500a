package copilot

import (
	"context"
	"errors"
)

// steer puts a prompt into the current run. Called with the lock held.
func (s *Session) steer(p Prompt) error {
	if len(s.run.steers) >= maxQueue {
		return Errorf(Busy, "%d prompts wait already; try again when the agent has read some", maxQueue)
	}
	s.run.steers = append(s.run.steers, p)
	s.deliver(s.run)
	return nil
}

// deliver gives the agent what steers a run, one after another. Called with the
// lock held.
func (s *Session) deliver(r *run) {
	l := s.link
	if !r.taken || r.steering || len(r.steers) == 0 || s.run != r || l == nil {
		return
	}
	r.steering = true
	s.replies.Go(func() {
		for p, ok := s.nextSteer(r); ok; p, ok = s.nextSteer(r) {
			s.steered(l, p, sendSteer(l, p))
		}
	})
}

func (s *Session) nextSteer(r *run) (p Prompt, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != r || len(r.steers) == 0 {
		r.steering = false
		return Prompt{}, false
	}
	p, r.steers = r.steers[0], r.steers[1:]
	return p, true
}

func sendSteer(l *link, p Prompt) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	if err := l.conversation.Send(ctx, p); err != nil {
		return because(ctx, l.lease.Agent, err)
	}
	return nil
}

// steered records a prompt that the agent has taken. One that came too late for
// its run gets a run of its own.
func (s *Session) steered(l *link, p Prompt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.append("", UserMessage{Prompt: p})
	case errors.Is(err, ErrIdle):
		p.Steer = false
		_, _ = s.add(newRun(p)) // a closed session or a full queue: the client has long gone on
	case s.link == l:
		s.fail("", failed(Errorf(KindOf(err), "the prompt did not reach the agent: %w", err)))
	}
}

// late makes runs of the prompts that their run did not live to see.
func late(r *run) []*run {
	runs := make([]*run, 0, len(r.steers))
	for _, p := range r.steers {
		p.Steer = false
		runs = append(runs, newRun(p))
	}
	r.steers = nil
	return runs
}

// compact makes the agent sum up what was said.
func (s *Session) compact(ctx context.Context, l *link, r *run) {
	err := l.conversation.Compact(ctx)
	switch {
	case err == nil:
		s.end(r, Completed)
	case ctx.Err() != nil:
		s.end(r, Cancelled)
	case isClosed(l.lease.Agent.Done()):
		s.lose(r)
	default:
		s.giveUp(r, because(ctx, l.lease.Agent, err))
	}
}
