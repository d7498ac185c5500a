package store

import (
	"slices"
	"sync"
)

// maxRecent is the maximum size of what is kept of all sessions, in bytes.
const maxRecent = 16 << 20

// recent keeps what this process has written to the sessions that it holds until the log of the cluster has it, so that it need
// not be read back. It forgets what does not fit, which is then read from the file.
type recent struct {
	mu     sync.Mutex
	pieces map[string][]piece // by subject, in the order of their versions
	bytes  int
}

// piece is what one group has written to a session.
type piece struct {
	version, epoch, last uint64
	changed              int64
	head                 *Session // nil: as before
	entries              []Entry
	texts                []Text
	drop                 []Span
	merge                bool
	bytes                int
	forgotten            bool // entries and texts are in the file only
}

// piece returns what a group has written.
func (w *writer) piece(o writeResult) piece {
	l, b := o.lease, &o.lease.writing
	p := piece{
		version: o.version, epoch: l.epoch, last: o.last, changed: o.changed, drop: slices.Clone(b.drop), merge: b.merge,
		entries: slices.Clone(b.entries), texts: slices.Clone(b.texts), bytes: b.bytes + overhead,
	}
	if h := b.head; h != nil && (!l.described || !sameHead(*h, l.head)) {
		head := *h
		head.ID, head.Created, head.OwnerName, head.Owner = l.id, l.acquired.Created, "", 0
		p.head, l.described = &head, true
		p.bytes += len(head.Meta)
	}
	return p
}

// add adds the newest piece of a subject. If all do not fit, those of the subject become one that is read from the file.
func (r *recent) add(subject string, p piece) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pieces := r.pieces[subject]
	keep := len(pieces)
	switch {
	case r.bytes+p.bytes > maxRecent:
		p, keep = forgotten(p), 0
	case p.forgotten && keep > 0 && pieces[keep-1].forgotten:
		keep--
	}
	for _, q := range pieces[keep:] {
		r.bytes -= q.bytes
		p.drop, p.merge = append(p.drop, q.drop...), p.merge || q.merge
	}
	p.drop = sorted(p.drop)
	r.bytes += p.bytes
	r.pieces[subject] = append(pieces[:keep], p)
}

// forgotten returns what the file does not say of a piece.
func forgotten(p piece) piece {
	return piece{version: p.version, drop: p.drop, merge: p.merge, forgotten: true}
}

// forget removes the pieces of a subject up to a version.
func (r *recent) forget(subject string, version uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pieces := r.pieces[subject]
	n := 0
	for n < len(pieces) && pieces[n].version <= version {
		r.bytes -= pieces[n].bytes
		n++
	}
	if n == len(pieces) {
		delete(r.pieces, subject)
		return
	}
	r.pieces[subject] = pieces[n:]
}

// after adds the pieces that follow a version to a change, up to the maximum size of a change, and reports whether they are
// complete.
func (r *recent) after(version uint64, c *Change) (complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pieces, size := r.pieces[c.Subject], 0
	for len(pieces) > 0 && pieces[0].version <= version {
		pieces = pieces[1:]
	}
	c.Version = version
	for i, p := range pieces {
		if p.version != c.Version+1 || p.forgotten || p.bytes > changeSize {
			break
		}
		if size += p.bytes; size > changeSize && i > 0 {
			break
		}
		if i == 0 {
			c.Entries, c.Texts = p.entries[:len(p.entries):len(p.entries)], p.texts[:len(p.texts):len(p.texts)]
		} else {
			c.Entries, c.Texts = append(c.Entries, p.entries...), append(c.Texts, p.texts...)
		}
		c.Version, c.Epoch, c.Last, c.Changed = p.version, p.epoch, p.last, max(c.Changed, p.changed)
		if p.head != nil {
			c.Session = p.head
		}
		c.addDrops(p)
		c.More = i < len(pieces)-1
	}
	return c.Version > version
}

// addDrops adds to a change what all pieces up to its version drop and merge, which the file does not say.
func (r *recent) addDrops(c *Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pieces[c.Subject] {
		if p.version <= c.Version {
			c.addDrops(p)
		}
	}
}

func (c *Change) addDrops(p piece) {
	c.Drop, c.Merge = append(c.Drop, p.drop...), c.Merge || p.merge
}

// sameHead reports whether two descriptions of a session are equal, apart from what the store sets.
func sameHead(a, b Session) bool {
	return a.Origin == b.Origin && a.Title == b.Title && a.Model == b.Model && a.Directory == b.Directory &&
		a.Closed == b.Closed && a.Pinned == b.Pinned && string(a.Meta) == string(b.Meta)
}
