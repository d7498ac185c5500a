package copilot

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
)

// A run that the portal was cut off from goes on when the agent waits in it for
// an answer that it can still be given. Its process is started when there is one.

// positionWaiting is the name of the position that tells of a session at rest whose
// run waits for an answer.
const positionWaiting = "portal.waiting"

// canLeaveRunOpen says whether a run is left as it is when the portal stops: all that it
// waits for can be answered later.
func (s *Session) canLeaveRunOpen(r *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run == r && s.canLeaveRunOpenLocked()
}

// canLeaveRunOpenLocked is canLeaveRunOpen of the current run, with the lock held.
func (s *Session) canLeaveRunOpenLocked() bool {
	if s.run == nil || s.run.cancelled || !s.closed || !s.suspended || s.host.recorder == nil {
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
	return !slices.ContainsFunc(s.queue, func(r *run) bool { return r.compactsFirst }) // of which the store knows nothing
}

// leaveRunOpen ends the loop in the middle of a run that goes on in another process, if
// it can; false otherwise. The conversation is not closed, which would end what
// it waits for: its process is stopped.
func (s *Session) leaveRunOpen() bool {
	s.mu.Lock()
	l := s.link
	if !s.canLeaveRunOpenLocked() {
		s.mu.Unlock()
		return false
	}
	s.link = nil // from here on its events are ignored
	s.recordOutsideRun(event.SessionClosed{})
	s.record.Close()
	s.setReaderPosition(positionWaiting, 1)
	s.storeHead()
	s.mu.Unlock()
	if l != nil {
		close(l.released)
		s.pendingReplies.Wait()
		l.lease.Release()
	}
	s.requestRelease()
	return true
}

// recordOutsideRun records what belongs to no run, also in the middle of one. Called with the
// lock held.
func (s *Session) recordOutsideRun(b event.Body) {
	r := s.run
	s.run = nil
	s.append("", b)
	s.run = r
}

// pendingAnswer is an answer that waits for the agent.
type pendingAnswer struct {
	question event.Question
	answer   event.Answer
}

// awaitLateAnswer waits until there is something to tell the agent of a run that
// goes on; for others it does nothing.
func (s *Session) awaitLateAnswer(ctx context.Context, r *run) {
	for s.waitsForAnswer(r) {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
	}
}

func (s *Session) waitsForAnswer(r *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.pending != nil && s.link == nil && len(r.answers) == 0
}

// deferAnswer keeps an answer for an agent that does not run yet. Those to other
// agents were let go with their questions. Called with the lock held.
func (s *Session) deferAnswer(q event.Question, a event.Answer) {
	if s.run == nil || !slices.ContainsFunc(s.run.pending, func(p event.Question) bool { return p.ID == q.ID }) {
		return
	}
	s.run.answers = append(s.run.answers, pendingAnswer{q, a})
	s.wakeLoop()
}

// deliverAnswers tells the agent what was answered before it ran. Called with the
// lock held, when there is a link.
func (s *Session) deliverAnswers() {
	if s.run == nil {
		return
	}
	answers := s.run.answers
	s.run.answers = nil
	for _, a := range answers {
		s.reply(a.question, a.answer)
	}
}
