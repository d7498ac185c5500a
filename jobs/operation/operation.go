package operation

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/journal"
)

// Type is what an operation does.
type Type string

// The types. All but Prompt are about a document and have a result of a form of
// their own.
const (
	Clarify Type = "clarify"
	Analyze Type = "analyze"
	Plan    Type = "plan"
	Prompt  Type = "prompt"
)

// Status is how far an operation is.
type Status string

// The statuses. Behind Running an operation has ended.
const (
	Pending     Status = "pending"
	Running     Status = "running"
	Completed   Status = "completed"
	Failed      Status = "failed"
	Cancelled   Status = "cancelled"
	Interrupted Status = "interrupted" // by the end of its portal
)

// Ended says whether nothing more happens.
func (s Status) Ended() bool { return s != Pending && s != Running }

// Request describes an operation to be started.
type Request struct {
	Type      Type
	Feature   string   // only one of a type runs for each; "": any number
	Document  string   // the text that it is about
	Path      string   // or the file that has it, below the directory
	Prompt    string   // what is wanted; with a document, besides what the type wants
	Model     string   // its id or its name for people; "": the default
	Directory string   // where the agent works; "": the host's
	Persist   *Persist // where the result goes besides; nil: nowhere
	Client    string   // who starts it, in the words of the dialect; "" if nobody says
}

// Persist says where the result of an operation is written.
type Persist struct {
	Path    string // a file below the directory; with the ending .json it gets the result, else the document
	Commit  bool   // commit that file, alone, with git
	Message string // of the commit; "": one that says what was done
}

// Info is an operation as it was at a time.
type Info struct {
	ID        string
	Type      Type
	Feature   string
	Status    Status
	Progress  int    // in percent
	Note      string // what it is doing, or how it ended, for people
	Created   time.Time
	Ended     time.Time // zero until then
	Messages  int       // how many there are
	Directory string
	Model     string
	Session   string          // the id of its Copilot session; "" until there is one
	Result    json.RawMessage // nil until it is completed
	Error     string          // why it failed; "" otherwise
}

// Operation is one piece of work, for any number of clients. Its methods may be
// called concurrently.
type Operation struct {
	host   *Host
	id     string
	client string                    // of its [Request]
	record *journal.Journal[Message] // its numbers are the sequences, plus 1. nil: it is read from the store
	stop   context.CancelCauseFunc   // ends the work; the cause is one of the errors below
	done   chan struct{}             // closed when it has ended

	mu   sync.Mutex
	info Info
	lost bool // another process has taken it: what counts stands in the store
	owed bool // the store did not take its end
}

// Why work is ended.
var (
	errCancelled = errors.New("the operation was cancelled")
	errStopping  = errors.New("the portal was stopped while the operation ran")
)

// newOperation is one that this process does.
func newOperation(h *Host, info Info) *Operation {
	return &Operation{host: h, id: info.ID, record: journal.New(journal.Options[Message]{}), done: make(chan struct{}), info: info}
}

// Client is who has started the operation: [Request.Client]. It is "" where another process or life has.
func (o *Operation) Client() string { return o.client }

// Info is the operation as it is now.
func (o *Operation) Info() Info {
	if o.isStored() {
		return o.stored()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	info := o.info
	if info.Status == Running {
		info.Progress = progress(time.Since(info.Created), o.host.Estimate(info.Type))
	}
	return info
}

// progress is a guess that never goes back and never says that all is done.
func progress(took, estimate time.Duration) int {
	return max(1, int(95*took/(took+estimate/2+1)))
}

// isStored says whether another process or life has written what counts.
func (o *Operation) isStored() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.record == nil || o.lost
}

// Next returns messages with sequences above after (-1: all of them), at most
// limit, if that is above 0. It waits while there are none; [io.EOF] is behind the
// last one. A cancelled ctx makes it a read that does not wait: it returns what
// there is, or the error of ctx.
func (o *Operation) Next(ctx context.Context, after, limit int) ([]Message, error) {
	number := uint64(max(-1, after)) + 1 //nolint:gosec // -1 becomes 0. (after + 1 may be too large a number)
	if o.isStored() {
		return o.nextStored(ctx, number, limit)
	}
	entries, err := o.record.Next(ctx, number, limit)
	switch {
	case errors.Is(err, io.EOF) && o.isStored():
		return o.nextStored(ctx, number, limit)
	case err != nil:
		return nil, err
	}
	list := make([]Message, len(entries))
	for i, e := range entries {
		list[i] = e.Value
	}
	return list, nil
}

// Last is the sequence of the newest message, -1 if there is none.
func (o *Operation) Last() int { return o.Info().Messages - 1 }

// Cancel ends the operation; it waits until it has ended or ctx is done. An
// operation that has ended stays as it is. Error: kind [copilot.Busy] if another
// process has it.
func (o *Operation) Cancel(ctx context.Context) error {
	if o.isStored() {
		return o.cancelStored(ctx)
	}
	o.stop(errCancelled)
	select {
	case <-o.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
