package copilot

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Ability says which questions a client can answer.
type Ability struct {
	Kinds   []event.QuestionKind
	Choices bool // and user input for which there are choices
}

// Can says whether a client with this ability can answer a question.
func (a Ability) Can(q event.Question) bool {
	return slices.Contains(a.Kinds, q.Kind) || a.Choices && q.Kind == event.AskInput && len(q.Choices) > 0
}

// with is the ability of two clients together.
func (a Ability) with(b Ability) Ability {
	kinds := slices.Clone(a.Kinds)
	for _, k := range b.Kinds {
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return Ability{kinds, a.Choices || b.Choices}
}

// Unattended says what becomes of questions to a person that no client can answer, in the sessions of one dialect.
type Unattended struct {
	After    time.Duration       // how long such a question waits; 0: as long as its run
	Decision permission.Decision // [permission.Allow] approves permissions and plans; all else is refused
	Answers  Ability             // of a client that the portal knows without its being attached
}

// ByNobody is the name of who answered in [event.QuestionClosed] when no client could.
const ByNobody = "unattended"

// attendance is which clients are attached to sessions and can answer.
type attendance struct {
	mu      sync.Mutex
	clients map[string][]*Ability // by session
}

func (a *attendance) add(session string, can *Ability) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[session] = append(a.clients[session], can)
}

func (a *attendance) remove(session string, can *Ability) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[session] = slices.DeleteFunc(a.clients[session], func(c *Ability) bool { return c == can })
	if len(a.clients[session]) == 0 {
		delete(a.clients, session)
	}
}

func (a *attendance) can(session string, q event.Question) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.clients[session], func(c *Ability) bool { return c.Can(q) })
}

// Attend notes that a client is attached to a session and can answer questions there, until leave is called. It need not be
// in memory. leave may be called more than once.
func (h *Host) Attend(session string, can Ability) (leave func()) {
	h.attendance.add(session, &can)
	h.reattend(session)
	return sync.OnceFunc(func() {
		h.attendance.remove(session, &can)
		h.reattend(session)
	})
}

// reattend lets a session look again who can answer its questions.
func (h *Host) reattend(session string) {
	if s, ok := h.Open(session); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.attend()
	}
}

// AddAbility notes what the session's client can answer without being attached, besides what is known of that: it
// is a client whose requests come one by one, or one that is called back. The session remembers it.
func (s *Session) AddAbility(can Ability) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.answers.with(can)
	if len(all.Kinds) == len(s.answers.Kinds) && all.Choices == s.answers.Choices {
		return
	}
	s.answers = all
	s.renew()
}

// attend times the open questions that nobody can answer. Called with the lock held, when there are others or when the
// clients are.
func (s *Session) attend() {
	limit := s.host.options.Unattended[s.origin].After
	for id, q := range s.questions {
		switch waits := limit <= 0 || !q.ForPerson() || s.isAttended(q.Question); {
		case waits && q.alone != nil:
			q.alone.Stop()
			q.alone = nil
		case !waits && q.alone == nil:
			q.alone = time.AfterFunc(limit, func() { s.decideAlone(id) })
		default:
			continue
		}
		s.questions[id] = q
	}
}

// isAttended says whether a client can answer a question. Called with the lock held.
func (s *Session) isAttended(q event.Question) bool {
	return s.answers.Can(q) || s.host.options.Unattended[s.origin].Answers.Can(q) || s.host.attendance.can(s.id, q)
}

// decideAlone answers a question that nobody could for too long.
func (s *Session) decideAlone(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, open := s.questions[id]
	if !open || s.isAttended(q.Question) { // by now
		return
	}
	how := s.host.options.Unattended[s.origin]
	a, done := q.Headless(how.Decision), "refused"
	if a.Approved {
		done = "allowed it"
	}
	a.Reason = fmt.Sprintf("No client that can answer was there for %v, so the portal %s.", how.After, done)
	s.closeQuestion(event.QuestionClosed{ID: id, By: ByNobody, Ending: event.Answered, Answer: a})
	s.reply(q.Question, a)
}

// stop ends the timers of a question.
func (q asked) stop() {
	for _, t := range []*time.Timer{q.timer, q.alone} {
		if t != nil {
			t.Stop()
		}
	}
}
