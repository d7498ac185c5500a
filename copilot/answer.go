package copilot

import (
	"context"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/session"
)

// questionTimers are the timers of an open question.
type questionTimers struct {
	deadline   *time.Timer // expires it; nil without a time limit
	unattended *time.Timer // answers it without a client; nil while a client can
}

// ask decides a question of the agent by the policy, or opens it for clients.
// The caller must hold the lock.
func (s *Session) ask(agent string, q event.Question) {
	if q.Kind == event.AskPermission {
		switch permission.Decide(q.AllNeeds(), s.canonical, s.policies()...) {
		case permission.Allow:
			s.decide(q, event.Answer{Approved: true})
			return
		case permission.Deny:
			s.decide(q, event.Answer{Reason: "The permissions of this session do not allow it."})
			return
		case permission.Ask:
			if s.needsNoApproval(q) {
				s.decide(q, event.Answer{Approved: true})
				return
			}
		}
		q.Scopes = permission.ScopesOf(q.AllNeeds(), s.canonical, s.policies())
	}
	q.Needs = nil
	if limit := s.limit(q); limit > 0 {
		q.Deadline = time.Now().Add(limit)
	}
	s.inputLocked(func(m *session.Machine) { m.Ask(agent, q) })
}

// decide answers a question without showing it to clients. The caller must hold the lock.
func (s *Session) decide(q event.Question, a event.Answer) {
	s.inputLocked(func(m *session.Machine) { m.Reply(q, a) })
}

// watch starts the timers of an open question. The caller must hold the lock.
func (s *Session) watch(q event.Question) {
	t := s.timers[q.ID]
	if !q.Deadline.IsZero() {
		t.deadline = time.AfterFunc(max(time.Until(q.Deadline), 0), func() { s.expire(q.ID) })
	}
	s.timers[q.ID] = t
	s.timeUnattended()
}

// unwatch stops the timers of a question. The caller must hold the lock.
func (s *Session) unwatch(id string) {
	s.timers[id].stop()
	delete(s.timers, id)
}

// needsNoApproval reports whether a permission is for a client tool that needs no approval. The caller must hold the lock.
func (s *Session) needsNoApproval(q event.Question) bool {
	return slices.ContainsFunc(s.settings.Tools, func(t event.Tool) bool { return t.Name == q.Tool && t.NoApproval })
}

// limit returns how long a question waits for its answer; 0 means as long as its run.
func (s *Session) limit(q event.Question) time.Duration {
	if q.Kind != event.AskTool {
		return s.host.options.Limits.Question
	}
	for _, t := range s.settings.Tools {
		if t.Name == q.Tool && t.Limit > 0 {
			return t.Limit
		}
	}
	return s.host.options.Limits.Tool
}

// expire ends a question that was not answered in time.
func (s *Session) expire(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q, err := s.machine.Question(id); err == nil {
		s.inputLocked(func(m *session.Machine) {
			m.Answer(event.QuestionClosed{ID: id, Ending: event.Expired}, q.ExpiredAnswer())
		})
	}
}

// SetRules adds rules that precede those of the session, from the next permission on. Open questions stay open. If the rule for
// a name changes, its remembered permission is removed. Errors: those of [Session.Prompt] about the session.
func (s *Session) SetRules(p permission.Policy) error {
	return s.host.commands.setRules.effect(context.Background(), s, p)
}

func (s *Session) setRulesHere(p permission.Policy) error {
	if err := s.lockActive(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.machine.State() != session.Active {
		return fault.ErrSessionClosed
	}
	policy := p.Over(s.settings.Policy)
	s.setPolicies(policy, s.settings.Remembered.Without(p, s.settings.Policy))
	return nil
}

// Answer answers an open question. The first valid answer from any client wins; by names the dialect of the
// client. Errors:
// [fault.ErrQuestionNotFound], [fault.ErrAlreadyAnswered], kind [fault.Invalid] for an answer
// that the question does not allow, [fault.ErrSessionInUse].
func (s *Session) Answer(id string, a event.Answer, by string) error {
	return s.host.commands.answer.effect(context.Background(), s, sentAnswer{id, a, by})
}

func (s *Session) answerHere(p sentAnswer) error {
	err := s.lockIfRecoverable(func(left unfinished) bool {
		return slices.ContainsFunc(left.Questions, func(q event.Question) bool { return q.ID == p.Question })
	})
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	q, err := s.machine.Question(p.Question)
	if err != nil {
		return err
	}
	a := p.whole()
	if err := q.Check(a); err != nil {
		return err
	}
	if a, err = s.remember(q, a); err != nil {
		return err
	}
	s.inputLocked(func(m *session.Machine) {
		m.Answer(event.QuestionClosed{ID: q.ID, By: p.By, Ending: event.Answered, Answer: a}, a)
	})
	return nil
}

// lockIfRecoverable acquires the lock. It first activates a stored session if worth accepts what its last owner left unfinished. On
// an error the lock is not held.
func (s *Session) lockIfRecoverable(worth func(unfinished) bool) error {
	s.mu.Lock()
	if !s.machine.State().Resumes() {
		return nil
	}
	err := s.checkHere()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if !s.mayNeedRecovery(ctx, worth) {
		s.mu.Lock()
		return nil
	}
	return s.lockActive()
}

// HasOpenQuestion reports whether a question may be open. It does not activate the session: for a stored one it returns true.
func (s *Session) HasOpenQuestion(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.machine.Question(id)
	return err == nil || s.machine.State().Resumes()
}

// OpenQuestions returns the open questions as they were recorded. It knows them only of a session that is active in this process.
func (s *Session) OpenQuestions() (list []event.Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.machine.OpenQuestions() {
		q, _ := s.machine.Question(id)
		if b, ok := s.masks.Mask("", event.QuestionAsked{Question: q}).(event.QuestionAsked); ok {
			list = append(list, b.Question)
		}
	}
	return list
}
