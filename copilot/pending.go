package copilot

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
)

// A run that the portal was cut off from goes on when the agent waits in it for
// an answer that it can still be given. Its process is started when there is one.

// markWaiting is the name of the position that tells of a session at rest whose
// run waits for an answer.
const markWaiting = "portal.waiting"

// parks says whether a run is left as it is when the portal stops: all that it
// waits for can be answered later.
func (s *Session) parks(r *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run == r && s.parksLocked()
}

// parksLocked is parks of the current run, with the lock held.
func (s *Session) parksLocked() bool {
	if s.run == nil || s.run.cancelled || !s.closed || !s.rests || s.host.recorder == nil {
		return false
	}
	if len(s.questions) == 0 || len(s.run.answers) > 0 { // an answer that the agent has not had would be lost
		return false
	}
	for _, q := range s.questions {
		if !q.SurvivesRestart() {
			return false
		}
	}
	return !slices.ContainsFunc(s.queue, func(r *run) bool { return r.compacts }) // of which the store knows nothing
}

// park ends the loop in the middle of a run that goes on in another process, if
// it can; false otherwise. The conversation is not closed, which would end what
// it waits for: its process is stopped.
func (s *Session) park() bool {
	s.mu.Lock()
	l := s.link
	if !s.parksLocked() {
		s.mu.Unlock()
		return false
	}
	s.link = nil // from here on its events are ignored
	s.apart(event.SessionClosed{})
	s.record.Close()
	s.setMark(markWaiting, 1)
	s.renew()
	s.mu.Unlock()
	if l != nil {
		close(l.left)
		s.replies.Wait()
		l.lease.Release()
	}
	s.letGo()
	return true
}

// apart records what belongs to no run, also in the middle of one. Called with the
// lock held.
func (s *Session) apart(b event.Body) {
	r := s.run
	s.run = nil
	s.append("", b)
	s.run = r
}

// answered is an answer that waits for the agent.
type answered struct {
	question event.Question
	answer   event.Answer
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
func (s *Session) keepAnswer(q event.Question, a event.Answer) {
	if s.run == nil || !slices.ContainsFunc(s.run.pending, func(p event.Question) bool { return p.ID == q.ID }) {
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
