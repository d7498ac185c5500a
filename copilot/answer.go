package copilot

import (
	"context"
	"maps"
)

// ask decides a question of the agent by the policy or puts it to the clients.
// Called with the lock held.
func (s *Session) ask(agent string, q Question) {
	if q.Kind == AskPermission {
		switch decide(q, s.canonical, s.policy, s.host.options.Policy) {
		case Allow:
			s.reply(q, Answer{Approved: true})
			return
		case Deny:
			s.reply(q, Answer{Reason: "The permissions of this session do not allow it."})
			return
		case Ask:
		}
	}
	s.questions[q.ID] = q
	s.append(agent, QuestionAsked{Question: q})
}

// Answer answers an open question. The first valid answer wins, whichever
// client gives it; by names the dialect it came through. Errors:
// [ErrQuestionNotFound], [ErrAlreadyAnswered], kind [Invalid] for an answer
// that the question does not allow.
func (s *Session) Answer(id string, a Answer, by string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, open := s.questions[id]
	if !open {
		return s.whyNotOpen(id)
	}
	if err := q.check(a); err != nil {
		return err
	}
	if a.Remember {
		s.remember(q, a.Approved)
	}
	s.closeQuestion(id, QuestionAnswered{ID: id, By: by, Ending: Answered, Answer: a})
	s.reply(q, a)
	return nil
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
func (s *Session) closeQuestion(id string, end QuestionAnswered) {
	delete(s.questions, id)
	if len(s.answered) >= maxAnswered {
		clear(s.answered)
	}
	s.answered[id] = true
	s.append("", end)
}

// remember makes the answer to a permission the rule for its names.
func (s *Session) remember(q Question, approved bool) {
	if q.Kind != AskPermission {
		return
	}
	policy := maps.Clone(s.policy)
	if policy == nil {
		policy = Policy{}
	}
	for _, name := range q.Names {
		policy[name] = Deny
		if approved {
			policy[name] = Allow
		}
	}
	s.policy = policy
}

// reply brings an answer to the agent without making the caller wait. Called
// with the lock held.
func (s *Session) reply(q Question, a Answer) {
	l := s.link
	if l == nil || l.conversation == nil {
		return // its process has ended, and the question with it
	}
	s.replies.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
		defer cancel()
		if err := l.conversation.Answer(ctx, q, a); err != nil && !isClosed(l.lease.Agent.Done()) {
			s.fail(Errorf(KindOf(err), "the answer did not reach the agent: %w", err))
		}
	})
}
