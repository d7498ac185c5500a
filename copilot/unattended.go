package copilot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/session"
)

// Capabilities are the questions that a client can answer.
type Capabilities struct {
	Kinds   []event.QuestionKind
	Choices bool // also user input with choices
}

// CanAnswer reports whether a client with these capabilities can answer a question.
func (a Capabilities) CanAnswer(q event.Question) bool {
	return slices.Contains(a.Kinds, q.Kind) || a.Choices && q.Kind == event.AskInput && len(q.Choices) > 0
}

// union returns the combined capabilities of two clients.
func (a Capabilities) union(b Capabilities) Capabilities {
	kinds := slices.Clone(a.Kinds)
	for _, k := range b.Kinds {
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return Capabilities{kinds, a.Choices || b.Choices}
}

// Unattended configures the answers to questions to a person that no client can answer, in the sessions of one dialect.
type Unattended struct {
	After    time.Duration       // how long such a question waits; 0: as long as its run
	Decision permission.Decision // [permission.Allow] approves permissions and plans; everything else is denied
	Answers  Capabilities        // capabilities of a client that need not be attached
}

// ByNobody is [event.QuestionClosed.By] of a question that the portal answered because no client could.
const ByNobody = "unattended"

// AttachClient records that a client is attached to a session and can answer its questions, until leave is called. The session need not
// be in memory. leave may be called more than once.
func (h *Host) AttachClient(session string, can Capabilities) (leave func()) {
	remove := h.clients.add(session, &can)
	h.recheckAttached(session)
	return func() {
		remove()
		h.recheckAttached(session)
	}
}

// Clients returns how many clients are attached to a session that this process holds. Those of another process count as one.
func (h *Host) Clients(session string) int { return len(h.clients.of(session)) }

// recheckAttached makes a session check again which of its questions a client can answer.
func (h *Host) recheckAttached(session string) {
	if s, ok := h.Loaded(session); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.timeUnattended()
	}
}

// AddCapabilities adds to what the session's client can answer without being attached, such as a client that sends single requests or
// is called back. The session stores it.
func (s *Session) AddCapabilities(can Capabilities) {
	runOrLog(s, s.host.commands.addCapabilities, can)
}

func (s *Session) addCapabilitiesHere(ctx context.Context, can Capabilities) error {
	if s.hasCapabilities(can) {
		return nil
	}
	return s.update(ctx, func() {
		s.capabilities = s.capabilities.union(can)
		s.storeHead()
	})
}

// hasCapabilities reports whether the session's client has all of some capabilities.
func (s *Session) hasCapabilities(can Capabilities) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities.union(can).equal(s.capabilities)
}

// timeUnattended starts timers for the open questions that no client can answer, and stops the others. It is called when questions or
// clients change. The caller must hold the lock.
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

// canBeAnswered reports whether a client can answer a question. The caller must hold the lock.
func (s *Session) canBeAnswered(q event.Question) bool {
	return s.capabilities.CanAnswer(q) || s.host.options.Unattended[s.origin].Answers.CanAnswer(q) ||
		slices.ContainsFunc(s.host.clients.of(s.id), func(c *Capabilities) bool { return c.CanAnswer(q) })
}

// answerUnattended answers a question that no client could answer in time.
func (s *Session) answerUnattended(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.machine.Question(id)
	if err != nil || s.canBeAnswered(q) {
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
