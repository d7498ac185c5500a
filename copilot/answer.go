package copilot

import (
	"context"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// openQuestion is an open question.
type openQuestion struct {
	event.Question
	timer      *time.Timer // ends it; nil without a time limit
	unattended *time.Timer // decides it; nil while a client can answer
}

// ask decides a question of the agent by the policy or puts it to the clients.
// Called with the lock held.
func (s *Session) ask(agent string, q event.Question) {
	if q.Kind == event.AskPermission {
		switch permission.Decide(q.AllNeeds(), s.canonical, s.policies()...) {
		case permission.Allow:
			s.reply(q, event.Answer{Approved: true})
			return
		case permission.Deny:
			s.reply(q, event.Answer{Reason: "The permissions of this session do not allow it."})
			return
		case permission.Ask:
			if s.needsNoApproval(q) {
				s.reply(q, event.Answer{Approved: true})
				return
			}
		}
	}
	if q.Kind == event.AskPermission {
		q.Scopes = permission.ScopesOf(q.AllNeeds(), s.canonical, s.policies())
	}
	q.Needs = nil
	open := openQuestion{Question: q}
	if limit := s.limit(q); limit > 0 {
		open.Deadline = time.Now().Add(limit)
		open.timer = time.AfterFunc(limit, func() { s.expire(q.ID) })
	}
	s.questions[q.ID] = open
	s.updateSlot(s.run)
	s.timeUnattended()
	s.append(agent, event.QuestionAsked{Question: open.Question})
}

// needsNoApproval says whether a permission is for a tool whose client said so. Called with the lock held.
func (s *Session) needsNoApproval(q event.Question) bool {
	return slices.ContainsFunc(s.tools, func(t event.Tool) bool { return t.Name == q.Tool && t.NoApproval })
}

// limit is how long a question waits for its answer; 0: as long as its run.
func (s *Session) limit(q event.Question) time.Duration {
	if q.Kind != event.AskTool {
		return s.host.options.Limits.Question
	}
	for _, t := range s.tools {
		if t.Name == q.Tool && t.Limit > 0 {
			return t.Limit
		}
	}
	return s.host.options.Limits.Tool
}

// expire ends a question that nobody answered.
func (s *Session) expire(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, open := s.questions[id]
	if !open {
		return
	}
	s.closeQuestion(event.QuestionClosed{ID: id, Ending: event.Expired})
	s.reply(q.Question, q.ExpiredAnswer())
}

// waitsForPerson says whether a person is to answer something. Called with the lock
// held.
func (s *Session) waitsForPerson() bool {
	for _, q := range s.questions {
		if q.NeedsPerson() {
			return true
		}
	}
	return false
}

// SetRules puts rules over those of the session, from the next permission on.
// Those that are open stay so. What is remembered of a name is forgotten when the
// rule for that name becomes another. Errors: those of [Session.Prompt] about the
// session.
func (s *Session) SetRules(p permission.Policy) error {
	if err := s.lockActive(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.closed {
		return fault.ErrSessionClosed
	}
	policy := p.Over(s.policy)
	s.setPolicies(policy, s.remembered.Without(p, s.policy))
	return nil
}

// Answer answers an open question. The first valid answer wins, whichever
// client gives it; by names the dialect it came through. Errors:
// [fault.ErrQuestionNotFound], [fault.ErrAlreadyAnswered], kind [fault.Invalid] for an answer
// that the question does not allow, [fault.ErrSessionInUse].
func (s *Session) Answer(id string, a event.Answer, by string) error {
	if err := s.lockToAnswer(id); err != nil {
		return err
	}
	defer s.mu.Unlock()
	q, open := s.questions[id]
	if !open {
		return s.notOpenError(id)
	}
	if err := q.Check(a); err != nil {
		return err
	}
	a, err := s.remember(q.Question, a)
	if err != nil {
		return err
	}
	s.closeQuestion(event.QuestionClosed{ID: id, By: by, Ending: event.Answered, Answer: a})
	s.reply(q.Question, a)
	return nil
}

// lockToAnswer takes the lock, after waking a session at rest if that was left
// with the question by a kill.
func (s *Session) lockToAnswer(id string) error {
	return s.lockIfRecoverable(func(left unfinished) bool {
		return slices.ContainsFunc(left.questions, func(q event.Question) bool { return q.ID == id })
	})
}

// lockIfRecoverable takes the lock, after waking a session at rest if what its last owner
// has left is worth it. Errors: then the lock is not held.
func (s *Session) lockIfRecoverable(worth func(unfinished) bool) error {
	s.mu.Lock()
	switch {
	case !s.isSuspended():
		return nil
	case s.owner != 0:
		defer s.mu.Unlock()
		return s.inUseError()
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if !s.mayNeedRecovery(ctx, worth) {
		s.mu.Lock()
		return nil
	}
	return s.lockActive()
}

func (s *Session) notOpenError(id string) error {
	if s.closedQuestions[id] {
		return fault.ErrAlreadyAnswered
	}
	return fault.ErrQuestionNotFound
}

// maxAnswered bounds the memory for ids of answered questions.
const maxAnswered = 1000

// closeQuestion records the end of a question. Called with the lock held.
func (s *Session) closeQuestion(end event.QuestionClosed) {
	q := s.questions[end.ID]
	q.stop()
	end.Kind = q.Kind
	delete(s.questions, end.ID)
	s.updateSlot(s.run)
	if len(s.closedQuestions) >= maxAnswered {
		clear(s.closedQuestions)
	}
	s.closedQuestions[end.ID] = true
	s.append("", end)
}

// withdraw ends all open questions: the agent does not wait for them any more.
// Called with the lock held.
func (s *Session) withdraw() {
	for id := range s.questions {
		s.closeQuestion(event.QuestionClosed{ID: id, Ending: event.Withdrawn})
	}
}

// reply brings an answer to the agent without making the caller wait. Called
// with the lock held.
func (s *Session) reply(q event.Question, a event.Answer) {
	l := s.link
	if l == nil {
		s.deferAnswer(q, a)
		return
	}
	s.pendingReplies.Go(func() {
		ctx, cancel := l.callContext(nil)
		defer cancel()
		if err := l.conversation.Answer(ctx, q, a); err != nil {
			s.endUnanswerableRun(l, because(ctx, l.lease.Agent, err))
		}
	})
}

// endUnanswerableRun ends the run, as its agent would wait for the answer for ever.
func (s *Session) endUnanswerableRun(l *agentLink, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l || agent.IsClosed(l.lease.Agent.Done()) {
		return // it ends anyway
	}
	s.fail("", failed(fault.Errorf(fault.KindOf(err), "the answer did not reach the agent: %w", err)))
	if s.run != nil {
		s.stopRun(s.run)
	}
}
