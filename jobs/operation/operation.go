package operation

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
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
	Client    string          `json:"-"` // who started it, of its [Request]; "" where another process or life did
}

// Operation is one piece of work, for any number of clients. Its methods may be
// called concurrently.
type Operation struct {
	host   *Host
	record *record
}

// Info is the operation as it is now.
func (o *Operation) Info() Info { return o.host.current(o.record.Head()) }

// current makes what is stored of an operation what is known now.
func (h *Host) current(i Info) Info {
	if i.Status == Running {
		i.Progress = progress(time.Since(i.Created), h.Estimate(i.Type))
	}
	if string(i.Result) == "null" {
		i.Result = nil
	}
	return i
}

// progress is a guess that never goes back and never says that all is done.
func progress(took, estimate time.Duration) int {
	return max(1, int(95*took/(took+estimate/2+1)))
}

// Next returns messages with sequences above after (-1: all of them), at most
// limit, if that is above 0. It waits while there are none; [io.EOF] is behind the
// last one. A cancelled ctx makes it a read that does not wait: it returns what
// there is, or the error of ctx.
func (o *Operation) Next(ctx context.Context, after, limit int) ([]Message, error) {
	return o.record.Next(ctx, uint64(max(-1, after))+1, limit) //nolint:gosec // -1 becomes 0. (after + 1 may be too large a number)
}

// Last is the sequence of the newest message, -1 if there is none.
func (o *Operation) Last() int { return o.Info().Messages - 1 }

// Cancel ends the operation; it waits until it has ended or ctx is done. An
// operation that has ended stays as it is. Error: kind [fault.Busy] if another
// process has it.
func (o *Operation) Cancel(ctx context.Context) error {
	err := o.record.Cancel(ctx)
	if errors.Is(err, activity.ErrEnded) {
		return nil
	}
	return err
}
