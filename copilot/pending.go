package copilot

import (
	"context"
	"slices"
)

// A run that the portal was cut off from goes on when the agent waits in it for
// an answer that it can still be given. Its process is started when there is one.

// answered is an answer that waits for the agent.
type answered struct {
	question Question
	answer   Answer
}

// awaitAnswer waits until there is something to tell the agent of a run that
// goes on; for others it does nothing.
func (s *Session) awaitAnswer(ctx context.Context, r *run) {
	for s.waits(r) {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
	}
}

func (s *Session) waits(r *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.pending != nil && s.link == nil && len(r.answers) == 0
}

// keepAnswer keeps an answer for an agent that does not run yet. Those to other
// agents were let go with their questions. Called with the lock held.
func (s *Session) keepAnswer(q Question, a Answer) {
	if s.run == nil || !slices.ContainsFunc(s.run.pending, func(p Question) bool { return p.ID == q.ID }) {
		return
	}
	s.run.answers = append(s.run.answers, answered{q, a})
	s.nudge()
}

// bringAnswers tells the agent what was answered before it ran. Called with the
// lock held, when there is a link.
func (s *Session) bringAnswers() {
	if s.run == nil {
		return
	}
	answers := s.run.answers
	s.run.answers = nil
	for _, a := range answers {
		s.reply(a.question, a.answer)
	}
}
