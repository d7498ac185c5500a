package store

import (
	"context"
	"math"
	"strings"
	"sync"
	"sync/atomic"
)

// overhead is what an entry or a text costs in memory besides its bytes, about.
const overhead = 64

// Lease is the right to write to a session, which one process has at a time. All methods may be called concurrently.
// Those without a context never wait: what they are given is written with the next group, in order.
type Lease struct {
	store  *Store
	id     string
	epoch  uint64
	taken  Session
	stored atomic.Uint64

	mu             sync.Mutex
	pending        batch
	queuedForWrite bool   // the writer knows that something is pending
	handed         uint64 // the number of the last entry handed over
	end            error  // why nothing is taken any more
	finished       bool

	// The writer's own.
	key     int64
	queued  bool // has something to write
	dated   bool // its owner says when something happens in it
	head    Session
	writing batch
}

// batch is what was handed over and not yet written.
type batch struct {
	entries []Entry
	texts   []Text
	marks   map[string]uint64
	head    *Session
	drop    []Span
	merge   bool
	bytes   int
}

// Session returns the id of the session.
func (l *Lease) Session() string { return l.id }

// Head returns the session as it was when it was taken.
func (l *Lease) Head() Session { return l.taken }

// Epoch tells how often the session was taken, this time included. Numbers that clients hold are good only within one.
func (l *Lease) Epoch() uint64 { return l.epoch }

// Stored returns the number up to which the record is durable.
func (l *Lease) Stored() uint64 { return l.stored.Load() }

// Append hands an entry over. It fails with [ErrBacklog] if too much waits already (hand it over again later),
// [ErrOrder], [ErrTooLarge], [ErrLost], [ErrReleased] or [ErrClosed], and has then taken nothing.
func (l *Lease) Append(e Entry) error {
	size := e.size() + overhead
	if size > MaxEntry {
		return ErrTooLarge
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		return l.end
	}
	if e.Number <= l.handed || e.Number > math.MaxInt64 {
		return ErrOrder
	}
	if !l.store.reserveRoom(size) {
		return ErrBacklog
	}
	l.handed = e.Number
	l.pending.entries = append(l.pending.entries, e)
	l.pending.bytes += size
	l.notifyWriter()
	return nil
}

// Index hands over a text to be found by [Store.Search]. It fails as [Lease.Append] does.
func (l *Lease) Index(t Text) error {
	size := len(t.Body) + overhead
	if size > MaxEntry {
		return ErrTooLarge
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		return l.end
	}
	if t.Number > math.MaxInt64 {
		return ErrOrder
	}
	if !l.store.reserveRoom(size) {
		return ErrBacklog
	}
	l.pending.texts = append(l.pending.texts, t)
	l.pending.bytes += size
	l.notifyWriter()
	return nil
}

// Update changes what is known of the session: origin, title, model, directory, closed, meta. Only the last of several
// is written. The fields that the store sets, and the id, are not looked at.
func (l *Lease) Update(head Session) error {
	return l.change(func() { l.pending.head = &head })
}

// Position remembers a number under a name, such as how far a reader has come; 0 forgets the name. Only the last of
// several is written.
func (l *Lease) Position(name string, number uint64) error {
	if number > math.MaxInt64 {
		return ErrOrder
	}
	return l.change(func() {
		if l.pending.marks == nil {
			l.pending.marks = map[string]uint64{}
		}
		l.pending.marks[name] = number
	})
}

// Merge says that a run has finished: the record is rewritten when there is time, with small segments joined, so that
// reading is cheap.
func (l *Lease) Merge() error {
	return l.change(func() { l.pending.merge = true })
}

// Drop says that entries are not needed any more: they are removed when there is time, as the record is rewritten. The
// last entry handed over so far always stays, and so do texts. Readers find the record with
// some of the entries or without. What is not done when the store is closed, or cannot be done, is forgotten.
func (l *Lease) Drop(spans ...Span) error {
	return l.change(func() { l.pending.drop = append(l.pending.drop, below(spans, l.handed)...) })
}

// Release writes what was handed over and gives the session back. If that cannot be written now, it says why and the
// session stays held.
func (l *Lease) Release(ctx context.Context) error {
	return l.store.do(ctx, func(ctx context.Context, w *writer) error { return w.release(ctx, l) })
}

func (l *Lease) change(do func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		return l.end
	}
	do()
	l.notifyWriter()
	return nil
}

// notifyWriter tells the writer, once per group.
func (l *Lease) notifyWriter() {
	if l.queuedForWrite {
		return
	}
	l.queuedForWrite = true
	l.store.mu.Lock()
	l.store.dirty = append(l.store.dirty, l)
	l.store.mu.Unlock()
	signal(l.store.wake)
}

// reserveRoom counts bytes that are handed over, unless too many wait. What is larger than the whole room is taken alone.
func (s *Store) reserveRoom(size int) bool {
	if total := s.bytes.Add(int64(size)); total > int64(s.options.Memory) && total > int64(size) {
		s.bytes.Add(-int64(size))
		return false
	}
	return true
}

// takePending moves what is pending to what is being written.
func (l *Lease) takePending() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queuedForWrite = false
	l.writing.add(&l.pending)
}

// stop lets nothing more be handed over, for the reason given, and resume lets it again.
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

// finish lets the session go, for the reason given, and what could not be written with it.
func (l *Lease) finish(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished {
		return
	}
	l.finished, l.end = true, reason
	l.writing.add(&l.pending)
	l.store.bytes.Add(-int64(l.writing.bytes))
	l.writing = batch{}
}

// add moves everything of a later batch behind this one.
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
		for name, number := range later.marks {
			b.marks[name] = number
		}
	}
	if later.head != nil {
		b.head = later.head
	}
	b.drop = append(b.drop, later.drop...)
	b.merge = b.merge || later.merge
	b.bytes += later.bytes
	*later = batch{entries: later.entries}
}

// reset empties the batch and keeps its room for entries, unless there was an unusual number of them.
func (b *batch) reset() {
	clear(b.entries)
	entries := b.entries[:0]
	if cap(entries) > 4096 {
		entries = nil
	}
	*b = batch{entries: entries}
}

// clean makes text that SQLite and its search take as it is, without the marks of snippets.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == 0 || r == markBegin || r == markEnd {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
