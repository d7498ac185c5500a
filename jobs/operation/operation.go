package operation

import (
	"context"
	"encoding/json"
	"time"
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
type Operation struct{}

// Info is the operation as it is now.
func (o *Operation) Info() Info { return Info{} }

// Next returns messages with sequences above after (-1: all of them), at most
// limit, if that is above 0. It waits while there are none; [io.EOF] is behind the
// last one. A cancelled ctx makes it a read that does not wait: it returns what
// there is, or the error of ctx.
func (o *Operation) Next(ctx context.Context, after, limit int) ([]Message, error) { return nil, nil }

// Last is the sequence of the newest message, -1 if there is none.
func (o *Operation) Last() int { return -1 }

// Cancel ends the operation; it waits until it has ended or ctx is done. An
// operation that has ended stays as it is. Error: kind [copilot.Busy] if another
// process has it.
func (o *Operation) Cancel(ctx context.Context) error { return nil }
