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
	text  string // as the end of the run has it
	told  string // as clients are told it
	hint  string
	until time.Time // when it is told at the latest; zero: it was told
}

// fail takes a failure. The text for an agent process that ended is that of spec/contracts/websocket.md, "Operation Failures".
func (t *teller) fail(b event.SessionError, at time.Time) {
	t.tellFailure()
	told := b.Text
	if b.Exit != "" {
		told = "Copilot CLI process " + b.Exit
	}
	t.failure = failure{text: b.Text, told: told, hint: b.Hint, until: at.Add(failureDelay)}
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

// tellFailure tells the failure that is held back, if there is one, after what was said before it.
func (t *teller) tellFailure() {
	f := t.failure
	if f.until.IsZero() {
		return
	}
	t.failure.until = time.Time{}
	t.closeAll()
	if f.hint != "" {
		f.told += "\n" + f.hint
	}
	t.add(Error, SenderSystem, "", f.told)
}
