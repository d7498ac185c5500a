package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
)

// operationEnd is how an operation ends.
type operationEnd struct {
	status  Status
	reason  string // error to report, or ""
	message string // error that was reported before
	text    string // text of "complete"; "" means the default of the status
	result  json.RawMessage
}

func failed(why string) operationEnd { return operationEnd{status: Failed, reason: why} }

// ended returns the end of work whose context is done.
func ended(ctx context.Context) operationEnd {
	if errors.Is(context.Cause(ctx), activity.ErrStopping) {
		return operationEnd{status: Interrupted, reason: "The portal was stopped while the operation ran."}
	}
	return operationEnd{status: Cancelled}
}

// messages returns the last messages: an error, if there is one, and complete.
func (e operationEnd) messages() []Message {
	var list []Message
	if e.reason != "" {
		list = append(list, Message{Type: Error, Content: truncateForMessage(e.reason), Sender: SenderSystem})
	}
	return append(list, Message{Type: Complete, Content: truncateForMessage(e.complete()), Sender: SenderSystem})
}

// truncateForMessage shortens a text to one message.
func truncateForMessage(text string) string { return pieces(clean(text))[0] }

func (e operationEnd) complete() string {
	switch e.status {
	case Failed:
		return cmp.Or(e.text, "Operation failed. No changes persisted.")
	case Cancelled:
		return "Operation cancelled. No changes persisted."
	case Interrupted:
		return "Operation interrupted."
	case Pending, Running, Completed:
	}
	return cmp.Or(e.text, "Operation complete.")
}

// apply stores the end in the info of the operation.
func (e operationEnd) apply(i *Info) {
	i.Status, i.Ended, i.Result = e.status, time.Now(), e.result
	switch e.status {
	case Completed:
		i.Progress = 100
	case Failed, Interrupted:
		i.Error = truncateForMessage(cmp.Or(e.reason, e.message))
	case Cancelled, Pending, Running:
	}
}
