package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strings"
)

// Change is what the log of a cluster has in one message: changes of one session, activity, visitor, share or position.
type Change struct {
	Subject string
	Node    string // of the process that made it
	Process string // its [Store.Name]
	Version uint64 `json:",omitempty"` // the node's count of changes
	Owner   *Owner `json:",omitempty"` // nil: none
	Epoch   uint64 `json:",omitempty"` // of a session
	Last    uint64 `json:",omitempty"` // number of the last entry or line
	Changed int64  `json:",omitempty"` // when a session changed, in milliseconds; 0: as before
	Claim   bool   `json:",omitempty"` // it changes the owner and the epoch, or removes; of the rest it says what the log has
	Removed bool   `json:",omitempty"`

	Session  *Session        `json:",omitempty"` // what describes a session; nil: as before
	Texts    []Text          `json:",omitempty"`
	Drop     []Span          `json:",omitempty"`
	Merge    bool            `json:",omitempty"`
	Activity *Activity       `json:",omitempty"`
	Row      json.RawMessage `json:",omitempty"` // of a visitor, share or position

	Entries []Entry `json:"-"` // or lines, as Data

	Expect uint64 `json:"-"` // of a claim: sequence of the newest change that is applied here
	More   bool   `json:"-"` // entries are left for the next change
}

// Owner is a process that holds a session or activity.
type Owner struct {
	Key  int64
	PID  int
	Node string // "": that of the change
}

// Progress is how far the log has a subject, as applied here.
type Progress struct{ Sequence, Number, Version, Shipped uint64 }

// Progress returns how far the log has a subject.
func (s *Store) Progress(ctx context.Context, subject string) (Progress, error) {
	x, err := progressIn(ctx, s.read.Load(), subject)
	return x, s.readError(err)
}

// PositionSequence returns the sequence of the newest message of the log about a position, as applied here; 0: there is none.
func (s *Store) PositionSequence(ctx context.Context, session, name string) (uint64, error) {
	x, err := s.Progress(ctx, positionSubject(session, name))
	return x.Sequence, err
}

// progress is [Store.Progress] within a transaction.
func (w *writer) progress(ctx context.Context, subject string) (Progress, error) {
	return progressIn(ctx, w.db, subject)
}

func progressIn(ctx context.Context, from querier, subject string) (x Progress, err error) {
	_, err = collect(ctx, from, func(row scanner) (Progress, error) {
		err := row.Scan(&x.Sequence, &x.Number, &x.Version, &x.Shipped)
		return x, err
	}, "SELECT sequence, number, version, shipped FROM shared WHERE subject = ?", subject)
	return x, err
}

// Change returns what the log, which has a version of a subject and its entries or lines up to a number, lacks of it: what belongs
// to the version of the change and, perhaps, some of what follows. It fails with [ErrNotFound] if the subject does not exist
// and never will.
func (s *Store) Change(ctx context.Context, subject string, version, after uint64) (Change, error) {
	c := Change{Subject: subject, Process: s.self.name(), Owner: s.ownerOf()}
	if s.recent.after(version, &c) {
		return c, nil
	}
	x, err := s.Progress(ctx, subject) // first, so that what follows has at least this version
	if err != nil {
		return Change{}, err
	}
	c = Change{Subject: subject, Process: s.self.name(), Version: x.Version}
	if x.Version <= version {
		return c, nil
	}
	switch kind, id := SplitSubject(subject); kind {
	case sessionKind:
		err = s.sessionChange(ctx, &c, id, after)
	case visitorKind, shareKind, positionKind:
		c.Row, err = s.row(ctx, kind, id)
		c.Removed = errors.Is(err, ErrNotFound)
		if c.Removed {
			err = nil
		}
	default:
		err = s.activityChange(ctx, &c, kind, id, after)
	}
	if c.More { // the rest belongs to this version
		c.Version = version
	}
	return c, err
}

// PositionSubjects returns the subjects of the positions in a session.
func (s *Store) PositionSubjects(ctx context.Context, session string) ([]string, error) {
	_, id := SplitSubject(session)
	return many(ctx, s, column[string], "SELECT subject FROM shared WHERE subject > ? AND subject < ?",
		subject(positionKind, id)+"/", subject(positionKind, id)+"0") // 0 follows /
}

// Shipped tells the store that the log has a version of a subject.
func (s *Store) Shipped(subject string, version uint64) { s.recent.forget(subject, version) }

func (s *Store) sessionChange(ctx context.Context, c *Change, id string, after uint64) error {
	head, err := s.describe(ctx, id)
	if err != nil {
		return err
	}
	if c.Owner, err = s.owner(ctx, "session WHERE id = ?", id); err != nil {
		return err
	}
	c.Epoch, c.Last, c.Changed = head.Epoch, head.Last, head.Changed.UnixMilli()
	c.Session = &head
	if err := s.entryChanges(ctx, c, id, after); err != nil {
		return err
	}
	if !c.More {
		s.recent.addDrops(c)
	}
	last := c.Last
	if !c.More { // a text may be stored before its entry
		last = math.MaxInt64
	}
	c.Texts, err = many(ctx, s, func(row scanner) (t Text, err error) {
		err = row.Scan(&t.Number, &t.Kind, &t.Body)
		return t, err
	}, "SELECT number, kind, body FROM text WHERE session = (SELECT key FROM session WHERE id = ?) AND number >= ? AND number <= ?", id, after, last) // or just after it
	return err
}

// describe returns a session as the log describes it.
func (s *Store) describe(ctx context.Context, id string) (Session, error) {
	head, err := s.find(ctx, id)
	if err != nil {
		return head, err
	}
	head.OwnerName, head.Owner = "", 0
	head.Pinned, err = one(ctx, s, column[bool], "SELECT count(*) FROM pinned JOIN session ON key = session WHERE id = ?", id)
	return head, err
}

// entryChanges adds the entries after a number, or some of them.
func (s *Store) entryChanges(ctx context.Context, c *Change, id string, after uint64) (err error) {
	if after >= c.Last {
		return nil
	}
	c.Entries, err = s.readUpTo(ctx, id, after, 0, changeSize)
	if damaged, ok := errors.AsType[*DamagedError](err); ok {
		c.Entries, err = []Entry{{Number: damaged.Last}}, nil // all nodes get the gap
	}
	if err != nil {
		return err
	}
	last := c.Last
	if n := len(c.Entries); n > 0 {
		last = c.Entries[n-1].Number
	}
	c.More = last < c.Last
	c.Last = last
	return nil
}

// changeSize is the maximum size of the entries in one change, in bytes; one entry may be larger.
const changeSize = 256 << 10

func (s *Store) activityChange(ctx context.Context, c *Change, kind, id string, after uint64) error {
	a, err := s.activity(ctx, kind, id)
	if err != nil {
		return err
	}
	if c.Owner, err = s.owner(ctx, "activity WHERE kind = ? AND id = ?", kind, id); err != nil {
		return err
	}
	lines, err := s.linesUpTo(ctx, kind, id, after, 0, changeSize)
	if err != nil {
		return err
	}
	for i, line := range lines {
		c.Entries = append(c.Entries, Entry{Number: after + uint64(i) + 1, Data: line})
	}
	c.Last = after + uint64(len(lines))
	if c.More = c.Last < a.Last; c.More {
		a.Done = false
	}
	a.Owner, a.OwnerName = 0, ""
	c.Activity = &a
	return nil
}

// owner returns the owner of a session or activity, alive or not.
func (s *Store) owner(ctx context.Context, of string, args ...any) (*Owner, error) {
	var o owner
	err := s.read.Load().QueryRowContext(ctx, "SELECT key, pid, host FROM owner WHERE key = (SELECT owner FROM "+of+")", args...).Scan(&o.key, &o.pid, &o.host)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is none
	}
	node, _ := strings.CutPrefix(o.host, clusterHost)
	if !o.isElsewhere() {
		node = ""
	}
	return &Owner{Key: o.key, PID: o.pid, Node: node}, s.readError(err)
}

// position is a position in a change.
type position struct {
	Session, Name string
	Number        uint64
}

// visitor is a visitor in a change.
type visitor struct {
	Visitor

	Hash []byte
}

// row returns a row that is shared as a whole.
func (s *Store) row(ctx context.Context, kind, id string) (json.RawMessage, error) {
	var v any
	var err error
	switch kind {
	case shareKind:
		v, err = one(ctx, s, scanShare, selectShare+" WHERE id = ?", id)
	case visitorKind:
		var x visitor
		if x.Hash, err = hex.DecodeString(id); err == nil {
			x.Visitor, err = s.admitted(ctx, x.Hash)
		}
		v = x
	default:
		p := position{}
		p.Session, p.Name, _ = strings.Cut(id, "/")
		p.Number, err = one(ctx, s, column[uint64], "SELECT number FROM position WHERE name = ? AND session = (SELECT key FROM session WHERE id = ?)",
			p.Name, p.Session)
		if errors.Is(err, ErrNotFound) {
			err = nil // a position of 0
		}
		v = p
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// ownerOf returns this process as the owner of a change.
func (s *Store) ownerOf() *Owner { return &Owner{Key: s.self.key, PID: s.self.pid} }
