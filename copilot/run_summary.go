package copilot

import (
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/copilot/session"
)

// runSummary is what lists of sessions show about runs. It is separate from the record, so that lists need not read the record.
type runSummary struct {
	Run     string        `json:"run,omitzero"` // the current one, otherwise the last
	Prompts int           `json:"prompts,omitzero"`
	Prompt  string        `json:"prompt,omitzero"`  // the last one, shortened
	Outcome event.Outcome `json:"outcome,omitzero"` // of the last run; "" during a run
}

// maxSubject limits what is read of a question, in bytes.
const maxSubject = 2 << 10

// status is what a session does now. Its holder stores it for the other processes.
type status struct {
	state    State // "" if a version stored it that knew no status
	waitsFor string
}

// stateElsewhere returns the state of a session that another process holds.
func (s status) stateElsewhere(reachable bool) State {
	if !reachable || s.state == "" {
		return StateElsewhere
	}
	return s.state
}

// waitsFor returns what a question that waits for a person is about. The caller must hold the lock.
func (s *Session) waitsFor() string {
	if s.machine.State() == session.Elsewhere {
		return s.stored.status.waitsFor
	}
	q, ok := s.machine.WaitsFor()
	if !ok {
		return ""
	}
	subject := q.Subject()
	return session.Excerpt(secret.Mask(strings.ToValidUTF8(subject[:min(len(subject), maxSubject)], "")))
}

// addPrompt counts a recorded prompt.
func (l *runSummary) addPrompt(p event.Prompt) {
	l.Prompts++
	l.Prompt = session.Excerpt(p.Text)
}
