package operation

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/fault"
)

var errNotFound = &fault.Error{Kind: fault.NotFound, Text: "no such operation: it never existed, or has expired"}

// kind describes operations to the activity log.
func (h *Host) kind() activity.Kind[Info, Message] {
	return activity.Kind[Info, Message]{
		Name: "operation", Entry: "message",
		ID: func(i *Info) *string { return &i.ID }, Created: func(i Info) time.Time { return i.Created },
		Ended: func(i Info) time.Time { return i.Ended }, Count: func(i Info) uint64 { return uint64(max(0, i.Messages)) },
		Number: func(i Info, m Message, at time.Time) Message { return m.numbered(i.ID, i.Messages, at) }, Apply: Info.apply,
		Encode: func(m Message) ([]byte, error) { return m.Frame, nil },
		Decode: func(_ uint64, line []byte) (Message, error) { return decode(line) },
		Unreadable: func(id string, created time.Time, count uint64) Info {
			return Info{ID: id, Created: created, Messages: int(count)} //nolint:gosec // at most MaxMessages
		},
		Abandon: abandon, Abandoned: h.cancelRun,
		NotFound: errNotFound,
	}
}

// apply returns the info after a message.
func (i Info) apply(m Message) Info {
	i.Messages = m.Sequence + 1
	if m.Type != Thinking {
		i.Note = oneLine(m.Content)
	}
	return i
}

// abandon finalizes an operation whose portal is gone: with an error, complete, and the status Interrupted.
func abandon(context.Context, Info) (activity.End[Info, Message], error) {
	e := operationEnd{status: Interrupted, reason: "The portal ended while the operation ran."}
	return activity.End[Info, Message]{Entries: e.messages(), Change: e.apply}, nil
}

// cancelRun cancels a run that still waits for an answer in the session of an abandoned operation. Usually
// there is none.
func (h *Host) cancelRun(ctx context.Context, i Info) {
	if s, err := h.options.Sessions.Session(ctx, i.Session); err == nil {
		_ = s.Cancel(s.Info().Run)
	}
}
