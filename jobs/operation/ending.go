package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
)

// ending is how an operation ends.
type ending struct {
	status Status
	why    string // is told as an error; "" if there is none to be told
	told   string // why, if that was told already
	text   string // of complete; "": what fits the status
	result json.RawMessage
}

func failed(why string) ending { return ending{status: Failed, why: why} }

// ended is the ending of work that was to end.
func ended(ctx context.Context) ending {
	if errors.Is(context.Cause(ctx), activity.ErrStopping) {
		return ending{status: Interrupted, why: "The portal was stopped while the operation ran."}
	}
	return ending{status: Cancelled}
}

// messages are the last ones: an error, unless it is none, and complete.
func (e ending) messages() []Message {
	var list []Message
	if e.why != "" {
		list = append(list, Message{Type: Error, Content: brief(e.why), Sender: SenderSystem})
	}
	return append(list, Message{Type: Complete, Content: brief(e.complete()), Sender: SenderSystem})
}

// brief is a text that has to go into one message.
func brief(text string) string { return pieces(clean(text))[0] }

func (e ending) complete() string {
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

// change puts the ending into what is known of the operation.
func (e ending) change(i *Info) {
	i.Status, i.Ended, i.Result = e.status, time.Now(), e.result
	switch e.status {
	case Completed:
		i.Progress = 100
	case Failed, Interrupted:
		i.Error = brief(cmp.Or(e.why, e.told))
	case Cancelled, Pending, Running:
	}
}
