package copilot

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/session"
)

// Capabilities says which questions a client can answer.
type Capabilities struct {
	Kinds   []event.QuestionKind
	Choices bool // and user input for which there are choices
}

// CanAnswer says whether a client with this ability can answer a question.
func (a Capabilities) CanAnswer(q event.Question) bool {
	return slices.Contains(a.Kinds, q.Kind) || a.Choices && q.Kind == event.AskInput && len(q.Choices) > 0
}

// union is the ability of two clients together.
func (a Capabilities) union(b Capabilities) Capabilities {
	kinds := slices.Clone(a.Kinds)
	for _, k := range b.Kinds {
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return Capabilities{kinds, a.Choices || b.Choices}
}

// Unattended says what becomes of questions to a person that no client can answer, in the sessions of one dialect.
type Unattended struct {
	After    time.Duration       // how long such a question waits; 0: as long as its run
	Decision permission.Decision // [permission.Allow] approves permissions and plans; all else is refused
	Answers  Capabilities        // of a client that the portal knows without its being attached
}

// ByNobody is the name of who answered in [event.QuestionClosed] when no client could.
const ByNobody = "unattended"

// attachedClients is which clients are attached to sessions and can answer.
type attachedClients struct {
	mu      sync.Mutex
	clients map[string][]*Capabilities // by session
}

func (a *attachedClients) add(session string, can *Capabilities) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[session] = append(a.clients[session], can)
}

func (a *attachedClients) remove(session string, can *Capabilities) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[session] = slices.DeleteFunc(a.clients[session], func(c *Capabilities) bool { return c == can })
	if len(a.clients[session]) == 0 {
		delete(a.clients, session)
	}
}

func (a *attachedClients) canAnswer(session string, q event.Question) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.clients[session], func(c *Capabilities) bool { return c.CanAnswer(q) })
}

// AttachClient notes that a client is attached to a session and can answer questions there, until leave is called. It need not be
// in memory. leave may be called more than once.
func (h *Host) AttachClient(session string, can Capabilities) (leave func()) {
	h.clients.add(session, &can)
	h.recheckAttached(session)
	return sync.OnceFunc(func() {
		h.clients.remove(session, &can)
		h.recheckAttached(session)
	})
}

// recheckAttached lets a session look again who can answer its questions.
func (h *Host) recheckAttached(session string) {
	if s, ok := h.Loaded(session); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.timeUnattended()
	}
}

// AddCapabilities notes what the session's client can answer without being attached, besides what is known of that: it
// is a client whose requests come one by one, or one that is called back. The session remembers it.
func (s *Session) AddCapabilities(can Capabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.capabilities.union(can)
	if len(all.Kinds) == len(s.capabilities.Kinds) && all.Choices == s.capabilities.Choices {
		return
	}
	s.capabilities = all
	s.storeHead()
}

// timeUnattended times the open questions that nobody can answer. Called with the lock held, when there are others or when the
// clients are.
func (s *Session) timeUnattended() {
	limit := s.host.options.Unattended[s.origin].After
	for _, id := range s.machine.OpenQuestions() {
		q, _ := s.machine.Question(id)
		t := s.timers[id]
		switch waits := limit <= 0 || !q.NeedsPerson() || s.canBeAnswered(q); {
		case waits && t.unattended != nil:
			t.unattended.Stop()
			t.unattended = nil
		case !waits && t.unattended == nil:
			t.unattended = time.AfterFunc(limit, func() { s.answerUnattended(id) })
		default:
			continue
		}
		s.timers[id] = t
	}
}

// canBeAnswered says whether a client can answer a question. Called with the lock held.
func (s *Session) canBeAnswered(q event.Question) bool {
	return s.capabilities.CanAnswer(q) || s.host.options.Unattended[s.origin].Answers.CanAnswer(q) || s.host.clients.canAnswer(s.id, q)
}

// answerUnattended answers a question that nobody could for too long.
func (s *Session) answerUnattended(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.machine.Question(id)
	if err != nil || s.canBeAnswered(q) { // by now
		return
	}
	how := s.host.options.Unattended[s.origin]
	a, done := q.UnattendedAnswer(how.Decision), "refused"
	if a.Approved {
		done = "allowed it"
	}
	a.Reason = fmt.Sprintf("No client that can answer was there for %v, so the portal %s.", how.After, done)
	s.inputLocked(func(m *session.Machine) {
		m.Answer(event.QuestionClosed{ID: id, By: ByNobody, Ending: event.Answered, Answer: a}, a)
	})
}

// stop ends the timers of a question.
func (q questionTimers) stop() {
	for _, t := range []*time.Timer{q.deadline, q.unattended} {
		if t != nil {
			t.Stop()
		}
	}
}
