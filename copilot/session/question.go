package session

import (
	"maps"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// maxAnswered limits the number of remembered ids of closed questions.
const maxAnswered = 1000

// Ask opens a question of the agent.
func (m *Machine) Ask(agent string, q event.Question) {
	m.open[q.ID] = q
	m.updateSlot()
	m.emit(WatchQuestion{q})
	m.record(agent, event.QuestionAsked{Question: q})
}

// Question returns an open question. Errors: [fault.ErrAlreadyAnswered], [fault.ErrQuestionNotFound].
func (m *Machine) Question(id string) (event.Question, error) {
	q, open := m.open[id]
	switch {
	case open:
		return q, nil
	case m.answered[id]:
		return q, fault.ErrAlreadyAnswered
	}
	return q, fault.ErrQuestionNotFound
}

// Asks reports whether a question is open.
func (m *Machine) Asks() bool { return len(m.open) > 0 }

// OpenQuestions returns the ids of the open questions, sorted.
func (m *Machine) OpenQuestions() []string { return slices.Sorted(maps.Keys(m.open)) }

// WaitsForPerson reports whether a person must answer a question.
func (m *Machine) WaitsForPerson() bool {
	_, waits := m.WaitsFor()
	return waits
}

// WaitsFor returns an open question that a person must answer, the same one until it is closed; false without any.
func (m *Machine) WaitsFor() (event.Question, bool) {
	for _, id := range m.OpenQuestions() {
		if q := m.open[id]; q.NeedsPerson() {
			return q, true
		}
	}
	return event.Question{}, false
}

// CloseQuestion closes an open question. It does nothing for others, because the agent repeats the answers it received.
func (m *Machine) CloseQuestion(end event.QuestionClosed) {
	q, open := m.open[end.ID]
	if !open {
		return
	}
	end.Kind = q.Kind
	delete(m.open, end.ID)
	m.emit(UnwatchQuestion{end.ID})
	m.updateSlot()
	if len(m.answered) >= maxAnswered {
		clear(m.answered)
	}
	m.answered[end.ID] = true
	m.record("", end)
}

// Answer closes an open question and sends the answer to the agent.
func (m *Machine) Answer(end event.QuestionClosed, a event.Answer) {
	q, open := m.open[end.ID]
	if !open {
		return
	}
	m.CloseQuestion(end)
	m.Reply(q, a)
}

// withdraw closes all questions, because the agent no longer waits for them.
func (m *Machine) withdraw() {
	for _, id := range m.OpenQuestions() {
		m.CloseQuestion(event.QuestionClosed{ID: id, Ending: event.Withdrawn})
	}
}

// Reply sends an answer to the agent. In a recovered run it starts the agent first. Without a conversation, other questions need no
// answer.
func (m *Machine) Reply(q event.Question, a event.Answer) {
	switch reply := (Reply{q, a}); {
	case m.conversation != 0:
		m.emit(reply)
	case m.run != nil && slices.ContainsFunc(m.run.pending, func(p event.Question) bool { return p.ID == q.ID }):
		m.run.answers = append(m.run.answers, reply)
		m.advance()
	}
}

// ReplyFailed ends the run that the agent has, because it would wait forever for the answer.
func (m *Machine) ReplyFailed(conversation int, err error) {
	if conversation != m.conversation {
		return
	}
	m.Fail("", event.NewSessionError(fault.Errorf(fault.KindOf(err), "the answer did not reach the agent: %w", err)))
	if m.run != nil && m.run.sent() {
		m.stop(m.run, stopFailed)
	}
}
