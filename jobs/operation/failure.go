package operation

import (
	"time"

	"github.com/copilot-portal/portal/copilot/event"
)

// failureDelay is how long a failure is held back for the last pieces of the texts that it has cut off: the record may have
// them behind it.
const failureDelay = time.Second

// failure is a failure of the session, which is told once.
type failure struct {
	text     string // as the end of the run has it
	message  string // as clients are told it
	hint     string
	deadline time.Time // when it is told at the latest; zero: it was told
}

// deferFailure takes a failure. The text for an agent process that ended is that of spec/contracts/websocket.md, "Operation Failures".
func (t *encoder) deferFailure(b event.SessionError, at time.Time) {
	t.flushFailure()
	told := b.Text
	if b.Exit != "" {
		told = "Copilot CLI process " + b.Exit
	}
	t.failure = failure{text: b.Text, message: told, hint: b.Hint, deadline: at.Add(failureDelay)}
}

// continues says whether an event may belong to what a failure before it has cut off.
func continues(b event.Body) bool {
	switch b.(type) {
	case event.MessageDelta, event.ReasoningDelta, event.MessageEnded, event.ReasoningEnded, event.UsageChanged, event.Notice,
		event.TurnEnded, event.RunEnded:
		return true
	}
	return false
}

// flushFailure tells the failure that is held back, if there is one, after what was said before it.
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
