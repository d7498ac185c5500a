package store

import (
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
)

// overhead is the approximate memory of an entry or a text in addition to its bytes.
const overhead = 64

// Lease is the right to write to a session. One process has it at a time. All methods may be called concurrently. Those
// without a context never wait: they queue data, which the next group writes in order.
type Lease struct {
	store    *Store
	id       string
	epoch    uint64
	acquired Session
	stored   atomic.Uint64

	mu             sync.Mutex
	pending        batch
	queuedForWrite bool   // the writer knows that something is pending
	handed         uint64 // number of the last queued entry
	end            error  // why the lease accepts no more entries

	// Fields of the writer's goroutine.
	key       int64
	queued    bool // has something to write
	dated     bool // the holder sets Session.Changed
	described bool // a head was written since it was acquired
	head      Session
	writing   batch
}

// batch is data that is queued and not yet written.
type batch struct {
	entries []Entry
	texts   []Text
	marks   map[string]uint64
	head    *Session
	drop    []Span
	merge   bool
	bytes   int
}

// newLease returns the lease of a session with the stored head.
func newLease(s *Store, head Session) *Lease {
	l := &Lease{store: s, id: head.ID, epoch: head.Epoch, acquired: head, head: head, handed: head.Last}
	l.stored.Store(head.Last)
	return l
}

// Session returns the id of the session.
func (l *Lease) Session() string { return l.id }

// Head returns the session as it was when it was acquired.
func (l *Lease) Head() Session { return l.acquired }

// Epoch returns how often the session was acquired, including this time. Numbers given to clients are valid within one
// epoch.
func (l *Lease) Epoch() uint64 { return l.epoch }

// IsLost reports whether another process has acquired the session, or it was deleted.
func (l *Lease) IsLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Is(l.end, ErrLost)
}

// Stored returns the number of the last durable entry.
func (l *Lease) Stored() uint64 { return l.stored.Load() }

// Append queues an entry. It fails with [ErrBacklog] if too much waits already (try again later), [ErrOrder],
// [ErrTooLarge], [ErrLost], [ErrReleased] or [ErrClosed]; the entry is then not queued.
func (l *Lease) Append(e Entry) error {
	return l.change(func() error {
		if e.Number <= l.handed || e.Number > math.MaxInt64 {
			return ErrOrder
		}
		if err := l.reserve(e.size()); err != nil {
			return err
		}
		l.handed = e.Number
		l.pending.entries = append(l.pending.entries, e)
		return nil
	})
}

// Index queues a text for [Store.Search]. It fails as [Lease.Append] does.
func (l *Lease) Index(t Text) error {
	t.Body = clean(t.Body)
	return l.change(func() error {
		if t.Number > math.MaxInt64 {
			return ErrOrder
		}
		if err := l.reserve(len(t.Body)); err != nil {
			return err
		}
		l.pending.texts = append(l.pending.texts, t)
		return nil
	})
}

// reserve counts queued bytes and fails if too many wait. An entry larger than the limit is accepted when nothing else
// waits.
func (l *Lease) reserve(size int) error {
	s := l.store
	if size += overhead; size > s.options.MaxEntry {
		return ErrTooLarge
	}
	if total := s.bytes.Add(int64(size)); total > int64(s.options.Memory) && total > int64(size) {
		s.bytes.Add(-int64(size))
		return ErrBacklog
	}
	l.pending.bytes += size
	return nil
}

// Update replaces origin, title, model, directory, closed, pinned, changed and meta of the session. Only the last of several
// updates is written. The id and the fields set by the store are ignored.
func (l *Lease) Update(head Session) error {
	return l.change(func() error {
		l.pending.head = &head
		return nil
	})
}

// Position stores a number under a name, such as the position of a reader; 0 removes the name. Only the last of several
// is written.
func (l *Lease) Position(name string, number uint64) error {
	return l.change(func() error {
		if number > math.MaxInt64 {
			return ErrOrder
		}
		if l.pending.marks == nil {
			l.pending.marks = map[string]uint64{}
		}
		l.pending.marks[name] = number
		return nil
	})
}

// Merge joins small segments of the record in the background, so that reads are cheap. Call it at the end of a run.
func (l *Lease) Merge() error {
	return l.change(func() error {
		l.pending.merge = true
		return nil
	})
}

// Drop removes entries in the background; until then readers may find some of them. The last queued entry stays, and so
// do texts. Work that is not done when the store closes or fails is not resumed.
func (l *Lease) Drop(spans ...Span) error {
	return l.change(func() error {
		l.pending.drop = append(l.pending.drop, below(spans, l.handed)...)
		return nil
	})
}

// Release writes the queued data and releases the session. If writing fails, the session stays held.
func (l *Lease) Release(ctx context.Context) error {
	return l.store.do(ctx, func(ctx context.Context, w *writer) error { return w.release(ctx, l) })
}

// change runs do, which changes the pending batch, and wakes the writer once per group.
func (l *Lease) change(do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		return l.end
	}
	if err := do(); err != nil || l.queuedForWrite {
		return err
	}
	l.queuedForWrite = true
	l.store.mu.Lock()
	l.store.dirty = append(l.store.dirty, l)
	l.store.mu.Unlock()
	signal(l.store.wake)
	return nil
}

// takePending moves the pending data to the batch being written.
func (l *Lease) takePending() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queuedForWrite = false
	l.writing.add(&l.pending)
}

// stop rejects new data with the given error until resume.
func (l *Lease) stop(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end == nil {
		l.end = reason
	}
}

func (l *Lease) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = nil
}

// finish ends the lease with the given error and discards unwritten data.
func (l *Lease) finish(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = reason
	l.writing.add(&l.pending)
	l.store.bytes.Add(-int64(l.writing.bytes))
	l.writing = batch{}
}

// add appends a later batch and empties it.
func (b *batch) add(later *batch) {
	if len(b.entries) == 0 {
		b.entries, later.entries = later.entries, b.entries
	} else {
		b.entries = append(b.entries, later.entries...)
		later.entries = later.entries[:0]
	}
	b.texts = append(b.texts, later.texts...)
	if b.marks == nil {
		b.marks = later.marks
	} else {
		maps.Copy(b.marks, later.marks)
	}
	if later.head != nil {
		b.head = later.head
	}
	b.drop = append(b.drop, later.drop...)
	b.merge = b.merge || later.merge
	b.bytes += later.bytes
	*later = batch{entries: later.entries}
}

// reset empties the batch. It keeps the array of entries unless that is unusually large.
func (b *batch) reset() {
	clear(b.entries)
	entries := b.entries[:0]
	if cap(entries) > 4096 {
		entries = nil
	}
	*b = batch{entries: entries}
}

// clean returns text that SQLite can store and search, without the marks of snippets.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == 0 || r == markBegin || r == markEnd {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
