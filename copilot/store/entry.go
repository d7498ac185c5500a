package store

import (
	"errors"
	"fmt"
	"time"
)

// MaxEntry is the usual maximum size of an entry or a text, in bytes.
const MaxEntry = 256 << 20

// Errors of this package, besides [Failure] and [InUseError].
var (
	ErrNotFound = errors.New("nothing is stored under this id")
	ErrExists   = errors.New("something is already stored under this id")
	ErrClosed   = errors.New("the store is closed")
	ErrReleased = errors.New("the session was released")
	ErrLost     = errors.New("another process has acquired it, or it was deleted or is done")
	ErrBacklog  = errors.New("the store is overloaded: too much data waits to be written")
	ErrOrder    = errors.New("the number of an entry must be larger than the one before, and below 2^63")
	ErrTooLarge = fmt.Errorf("entries must not exceed %d MiB", MaxEntry>>20)
)

// InUseError reports that another process, or another part of this one, holds the session.
type InUseError struct {
	Session string
	PID     int

	doubtful bool // its heartbeat is so late that it may be gone
}

// Error names the process.
func (e *InUseError) Error() string {
	return fmt.Sprintf("session %s is in use by process %d", e.Session, e.PID)
}

// DamagedError reports stored entries that cannot be read any more; later ones may be readable.
type DamagedError struct {
	Session string
	Last    uint64 // number of the last of them
	cause   error
}

// Error names the last entry.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("session %s, entries up to %d: %v", e.Session, e.Last, e.cause)
}

// Unwrap returns what is damaged.
func (e *DamagedError) Unwrap() error { return e.cause }

// Entry is one entry of a session's record. The store keeps the slices, so they must not change. One without data stands for
// entries up to its number that are lost.
type Entry struct {
	Number  uint64 // larger than the one before; numbers may have holes
	Data    []byte
	Payload []byte // content that may be large and repeat; stored once per session
}

func (e Entry) size() int { return len(e.Data) + len(e.Payload) }

// Span is a range of entries, both ends included.
type Span struct{ First, Last uint64 }

// Text is a text that [Store.Search] finds.
type Text struct {
	Session string // ignored by [Lease.Index]
	Number  uint64 // entry that the text belongs to
	Kind    string // name given by the caller; an entry has at most one text of each kind
	Body    string
}

// Session describes a session: everything besides its record.
type Session struct {
	ID        string
	Origin    string
	Title     string
	Model     string
	Directory string
	Created   time.Time // in milliseconds
	Changed   time.Time // to the millisecond
	Epoch     uint64    // how often the session was acquired; set by the store
	Last      uint64    // the number of the last stored entry; set by the store
	Owner     int       // process that holds it, or 0; set by the store
	OwnerName string    // its [Store.Name]
	Closed    bool
	Pinned    bool   // for [Store.Pinned]; set by the caller, and not read back
	Meta      []byte // data of the caller
}

// Cursor returns the session's position in the list, for [Store.List].
func (s Session) Cursor() Cursor { return Cursor{Changed: s.Changed, ID: s.ID} }

// Cursor is a position in the list of sessions; the zero value is the start.
type Cursor struct {
	Changed time.Time
	ID      string
}
