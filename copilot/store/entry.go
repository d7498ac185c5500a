package store

import "time"

// MaxEntry is the most bytes that an entry or a text may have.
const MaxEntry = 256 << 20

// Entry is one entry of a session's record. The store keeps the slices until they are written: they must not change.
type Entry struct {
	Number  uint64 // larger than the one before; there may be holes
	Data    []byte
	Payload []byte // what may be large and may be the same in several entries; stored once per session
}

func (e Entry) size() int { return len(e.Data) + len(e.Payload) }

// Span is the entries from one number to another, both included.
type Span struct{ First, Last uint64 }

// Text is what a search can find.
type Text struct {
	Session string // not needed for [Lease.Index]
	Number  uint64 // the entry that the text is of
	Kind    string // the caller's word for what it is; a number has one text of each kind
	Body    string
}

// Session is what is known of a session besides its record.
type Session struct {
	ID        string
	Origin    string
	Title     string
	Model     string
	Directory string
	Created   time.Time // in milliseconds
	Changed   time.Time // when something happened in it last, in milliseconds; if it is not given, when something was written
	Epoch     uint64    // how often the session was taken; set by the store
	Last      uint64    // the number of the last stored entry; set by the store
	Size      int64     // bytes of its record on disk, about; set by the store
	Owner     int       // the process that holds it, or 0; set by the store
	Closed    bool
	Meta      []byte // whatever else the caller keeps
}

// Cursor is the session's place in the list, for [Store.List].
func (s Session) Cursor() Cursor { return Cursor{Changed: s.Changed, ID: s.ID} }

// Cursor is a place in the list of sessions. The zero value is the beginning.
type Cursor struct {
	Changed time.Time
	ID      string
}
