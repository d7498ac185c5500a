package operation

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/jobs/operation/report"
)

// Type is the kind of work of an operation.
type Type = report.Type

// The types. All except Prompt need a document and have a result with a fixed structure.
const (
	Clarify = report.Clarify
	Analyze = report.Analyze
	Plan    = report.Plan
	Prompt  = report.Free
)

// Status is the state of an operation.
type Status string

// The statuses. Those after Running are final.
const (
	Pending     Status = "pending"
	Running     Status = "running"
	Completed   Status = "completed"
	Failed      Status = "failed"
	Cancelled   Status = "cancelled"
	Interrupted Status = "interrupted" // because its portal ended
)

// Ended reports whether the status is final.
func (s Status) Ended() bool { return s != Pending && s != Running }

// Request describes an operation to start.
type Request struct {
	Type      Type
	Feature   string   // at most one operation of a type runs per feature; "" means no limit
	Document  string   // the text to work on
	Path      string   // or the path of its file below Directory
	Prompt    string   // instructions; with a document, in addition to those of the type
	Model     string   // id or display name; "" means the default
	Directory string   // working directory of the agent; "" means the host's
	Persist   *Persist // where else to store the result; nil means nowhere
	Client    string   // the client, as named by the dialect, or ""
}

// Persist says where to write the result of an operation.
type Persist struct {
	Path    string // a file below the directory; it gets the result if it ends in .json, otherwise the document
	Commit  bool   // also commit only that file with git
	Message string // of the commit; "" means a generated one
}

// Info is a snapshot of an operation.
type Info struct {
	ID        string
	Type      Type
	Feature   string
	Status    Status
	Progress  int    // in percent
	Note      string // current action, or outcome, for people
	Created   time.Time
	Ended     time.Time // zero if it has not ended
	Messages  int       // number of messages
	Directory string
	Model     string
	Session   string          // id of its Copilot session, or ""
	Result    json.RawMessage // nil unless it is completed
	Error     string          // why it failed, or ""
	Client    string          `json:"-"` // Client of its [Request]; "" if another process started it
}

// Operation is an operation, for any number of clients. It is safe for concurrent use.
type Operation struct {
	host   *Host
	record *record
}

// Info returns a snapshot of the operation.
func (o *Operation) Info() Info { return o.host.current(o.record.Head()) }

// current completes stored info with what only this process knows.
func (h *Host) current(i Info) Info {
	if i.Status == Running {
		i.Progress = progress(time.Since(i.Created), h.Estimate(i.Type))
	}
	if string(i.Result) == "null" {
		i.Result = nil
	}
	return i
}

// progress estimates the progress in percent. It never decreases and stays below 100.
func progress(took, estimate time.Duration) int {
	return max(1, int(95*took/(took+estimate/2+1)))
}

// Reader returns a reader of the messages with sequences above after; after -1 means all. There are no gaps.
func (o *Operation) Reader(after int) *follow.Reader[Message] {
	return follow.New(o.record, func(m Message) uint64 { return number(m.Sequence) }, number(after))
}

// Present returns the available messages with sequences above after; after -1 means all.
func (o *Operation) Present(ctx context.Context, after int) ([]Message, error) {
	return o.record.Present(ctx, number(after))
}

// number returns the number that a sequence has in the record.
func number(sequence int) uint64 { return uint64(max(-1, sequence)) + 1 } //nolint:gosec // -1 becomes 0; sequence+1 could overflow

// Last returns the sequence of the newest message, or -1.
func (o *Operation) Last() int { return o.Info().Messages - 1 }

// CatchUp waits until this node of a cluster has all messages that others have sent to clients by now, or for a few seconds.
func (o *Operation) CatchUp(ctx context.Context) { o.record.CatchUp(ctx) }

// Cancel ends the operation and waits until it has ended or ctx is done. It does nothing if the operation has
// already ended. Error: kind [fault.Busy] if another process runs it.
func (o *Operation) Cancel(ctx context.Context) error {
	err := o.record.Cancel(ctx)
	if errors.Is(err, activity.ErrEnded) {
		return nil
	}
	return err
}
