package copilot

import (
	"context"
	"slices"
	"time"
)

// asked is an open question.
type asked struct {
	Question
	timer *time.Timer // ends it; nil without a time limit
	alone *time.Timer // decides it; nil while a client can answer
}

// ask decides a question of the agent by the policy or puts it to the clients.
// Called with the lock held.
func (s *Session) ask(agent string, q Question) {
	if q.Kind == AskPermission {
		switch decide(q, s.canonical, s.policies()...) {
		case Allow:
			s.reply(q, Answer{Approved: true})
			return
		case Deny:
			s.reply(q, Answer{Reason: "The permissions of this session do not allow it."})
			return
		case Ask:
			if s.needsNoApproval(q) {
				s.reply(q, Answer{Approved: true})
				return
			}
		}
	}
	if q.Kind == AskPermission {
		q.Scopes = q.scopes(s.canonical, s.policies())
	}
	q.Needs = nil
	open := asked{Question: q}
	if limit := s.limit(q); limit > 0 {
		open.Deadline = now().Add(limit)
		open.timer = time.AfterFunc(limit, func() { s.expire(q.ID) })
	}
	s.questions[q.ID] = open
	s.count(s.run)
	s.attend()
	s.append(agent, QuestionAsked{Question: open.Question})
}

// needsNoApproval says whether a permission is for a tool whose client said so. Called with the lock held.
func (s *Session) needsNoApproval(q Question) bool {
	return slices.ContainsFunc(s.tools, func(t Tool) bool { return t.Name == q.Tool && t.NoApproval })
}

// limit is how long a question waits for its answer; 0: as long as its run.
func (s *Session) limit(q Question) time.Duration {
	if q.Kind != AskTool {
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
	s.closeQuestion(QuestionAnswered{ID: id, Ending: Expired})
	s.reply(q.Question, q.unanswered())
}

// asksPerson says whether a person is to answer something. Called with the lock
// held.
func (s *Session) asksPerson() bool {
	for _, q := range s.questions {
		if q.forPerson() {
			return true
		}
	}
	return false
}

// Permit puts rules over those of the session, from the next permission on.
// Those that are open stay so. What is remembered of a name is forgotten when the
// rule for that name becomes another. Errors: those of [Session.Prompt] about the
// session.
func (s *Session) Permit(p Policy) error {
	if err := s.lockAwake(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.closed {
		return ErrSessionClosed
	}
	policy := p.over(s.policy)
	s.setPolicies(policy, s.remembered.without(p, s.policy))
	return nil
}

// Answer answers an open question. The first valid answer wins, whichever
// client gives it; by names the dialect it came through. Errors:
// [ErrQuestionNotFound], [ErrAlreadyAnswered], kind [Invalid] for an answer
// that the question does not allow, [ErrSessionInUse].
func (s *Session) Answer(id string, a Answer, by string) error {
	if err := s.lockToAnswer(id); err != nil {
		return err
	}
	defer s.mu.Unlock()
	q, open := s.questions[id]
	if !open {
		return s.whyNotOpen(id)
	}
	if err := q.check(a); err != nil {
		return err
	}
	a, err := s.remember(q.Question, a)
	if err != nil {
		return err
	}
	s.closeQuestion(QuestionAnswered{ID: id, By: by, Ending: Answered, Answer: a})
	s.reply(q.Question, a)
	return nil
}

// lockToAnswer takes the lock, after waking a session at rest if that was left
// with the question by a kill.
func (s *Session) lockToAnswer(id string) error {
	return s.lockIfLeft(func(left remains) bool {
		return slices.ContainsFunc(left.questions, func(q Question) bool { return q.ID == id })
	})
}

// lockIfLeft takes the lock, after waking a session at rest if what its last owner
// has left is worth it. Errors: then the lock is not held.
func (s *Session) lockIfLeft(worth func(remains) bool) error {
	s.mu.Lock()
	switch {
	case !s.isAtRestUntilUsed():
		return nil
	case s.owner != 0:
		defer s.mu.Unlock()
		return s.inUse()
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if !s.wasLeft(ctx, worth) {
		s.mu.Lock()
		return nil
	}
	return s.lockAwake()
}

func (s *Session) whyNotOpen(id string) error {
	if s.answered[id] {
		return ErrAlreadyAnswered
	}
	return ErrQuestionNotFound
}

// maxAnswered bounds the memory for ids of answered questions.
const maxAnswered = 1000

// closeQuestion records the end of a question. Called with the lock held.
func (s *Session) closeQuestion(end QuestionAnswered) {
	q := s.questions[end.ID]
	q.stop()
	end.Kind = q.Kind
	delete(s.questions, end.ID)
	s.count(s.run)
	if len(s.answered) >= maxAnswered {
		clear(s.answered)
	}
	s.answered[end.ID] = true
	s.append("", end)
}

// withdraw ends all open questions: the agent does not wait for them any more.
// Called with the lock held.
func (s *Session) withdraw() {
	for id := range s.questions {
		s.closeQuestion(QuestionAnswered{ID: id, Ending: Withdrawn})
	}
}

// reply brings an answer to the agent without making the caller wait. Called
// with the lock held.
func (s *Session) reply(q Question, a Answer) {
	l := s.link
	if l == nil {
		s.keepAnswer(q, a)
		return
	}
	s.replies.Go(func() {
		ctx, cancel := l.errand(nil)
		defer cancel()
		if err := l.conversation.Answer(ctx, q, a); err != nil {
			s.unanswered(l, because(ctx, l.lease.Agent, err))
		}
	})
}

// unanswered ends the run, as its agent would wait for the answer for ever.
func (s *Session) unanswered(l *link, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l || isClosed(l.lease.Agent.Done()) {
		return // it ends anyway
	}
	s.fail("", failed(Errorf(KindOf(err), "the answer did not reach the agent: %w", err)))
	if s.run != nil {
		s.stopRun(s.run)
	}
}
