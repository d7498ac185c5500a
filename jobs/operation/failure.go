package operation

import (
	"time"

	"github.com/copilot-portal/portal/copilot/event"
)

// failureDelay is how long a failure is held back to let the last deltas of the interrupted texts arrive:
// they may follow it in the record.
const failureDelay = time.Second

// failure is a failure of the session, which is reported once.
type failure struct {
	text     string // as in the end of the run
	message  string // for clients
	hint     string
	deadline time.Time // latest time to report it; zero if it was reported
}

// deferFailure holds back a failure. Its text for an agent process that ended is fixed by
// spec/contracts/websocket.md, "Operation Failures".
func (t *encoder) deferFailure(b event.SessionError, at time.Time) {
	t.flushFailure()
	text := b.Text
	if b.Exit != "" {
		text = "Copilot CLI process " + b.Exit
	}
	t.failure = failure{text: b.Text, message: text, hint: b.Hint, deadline: at.Add(failureDelay)}
}

// continues reports whether an event may belong to what an earlier failure interrupted.
func continues(b event.Body) bool {
	switch b.(type) {
	case event.MessageDelta, event.ReasoningDelta, event.MessageEnded, event.ReasoningEnded, event.UsageChanged, event.Notice,
		event.TurnEnded, event.RunEnded:
		return true
	}
	return false
}

// flushFailure reports the failure that is held back, if any, after the unfinished texts.
func (t *encoder) flushFailure() {
	f := t.failure
	if f.deadline.IsZero() {
		return
	}
	t.failure.deadline = time.Time{}
	t.closeAll()
	if f.hint != "" {
		f.message += "\n" + f.hint
	}
	t.add(Error, SenderSystem, "", f.message)
}
