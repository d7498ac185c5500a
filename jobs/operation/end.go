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
	reason  string // is told as an error; "" if there is none to be told
	message string // why, if that was told already
	text    string // of complete; "": what fits the status
	result  json.RawMessage
}

func failed(why string) operationEnd { return operationEnd{status: Failed, reason: why} }

// ended is the ending of work that was to end.
func ended(ctx context.Context) operationEnd {
	if errors.Is(context.Cause(ctx), activity.ErrStopping) {
		return operationEnd{status: Interrupted, reason: "The portal was stopped while the operation ran."}
	}
	return operationEnd{status: Cancelled}
}

// messages are the last ones: an error, unless it is none, and complete.
func (e operationEnd) messages() []Message {
	var list []Message
	if e.reason != "" {
		list = append(list, Message{Type: Error, Content: truncateForMessage(e.reason), Sender: SenderSystem})
	}
	return append(list, Message{Type: Complete, Content: truncateForMessage(e.complete()), Sender: SenderSystem})
}

// truncateForMessage is a text that has to go into one message.
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

// apply puts the ending into what is known of the operation.
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
