package journal

import (
	"context"
	"errors"
	"math"
	"sync"
)

// ErrClosed is returned by [Journal.Append] between [Journal.Close] and [Journal.Reopen].
var ErrClosed = errors.New("journal: closed")

// Options configures the cost and the groups of entries. The zero value keeps everything.
//
// Cost and Group are called once for each append, before it takes effect, on the appending goroutine and without a
// lock. They may therefore run concurrently and may call the journal's methods.
type Options[T any] struct {
	// Budget is the total cost to keep, in the units of Cost. Without a positive budget, the journal is unbounded.
	Budget int

	// Cost returns the cost of one entry, such as its size in bytes. Negative costs count as 0. The sum of the budget
	// and the highest cost must fit an int. If Cost is nil, every entry costs 1.
	Cost func(T) int

	// Group returns the key of an entry's group and whether the entry ends it. An end supersedes all earlier entries of
	// its key except ends, and is never superseded. After an end, the key may be used for a new group. Entries without
	// a key stand alone. If Group is nil, all entries do.
	Group func(T) (key string, end bool)

	// Pinned keeps every entry, whatever the budget, until [Journal.Unpin] reports that a store has it.
	Pinned bool

	// Load returns entries numbered above after from a store, oldest first: at least one, at most limit. [Journal.Next]
	// calls it for entries that are no longer in memory, on the reader's goroutine and without a lock, so it runs
	// concurrently. The reader owns the slice.
	//
	// As in memory, numbers may have holes only where entries were superseded. If the store lost other entries or never
	// had them, Load must return a *[GapError] whose First is where its record continues. No entries and no error mean
	// that it has none above after. An entry is superseded if it is flagged or if its end is returned with it. The
	// context ends with the reader's, unless that has ended before; set a time limit in Load.
	//
	// If Load is nil, evicted entries are gone.
	Load func(ctx context.Context, after uint64, limit int) ([]Entry[T], error)

	// Epoch makes the numbers of this journal part of a [Position]. No earlier journal of the same record, including
	// those that its store has lost, may have used it. A random number will do.
	Epoch uint64

	// Earlier lists the previous epochs, each with the last number that still denotes the same entry: the last one
	// stored when the epoch ended. Positions of other epochs are stale.
	Earlier []Position

	// Meter counts reads. Journals may share it. It may be nil.
	Meter *Meter
}

// Journal is a record of entries, numbered from 1 consecutively in the order of their appends. Create one with [New] or
// [Restore]. All methods may be called concurrently, by any number of writers and readers.
//
// A journal holds no resource but memory, so closing it is optional: [Journal.Close] lets readers finish.
type Journal[T any] struct {
	options Options[T]

	// With a Mutex, a single reader is faster, but a thousand replay at about half the speed and delay the writer.
	mu     sync.RWMutex
	chunks []*chunk[T]          // kept entries, by number; no chunk is empty
	open   map[string]*group[T] // groups without an end; none is empty
	ended  []*group[T]          // superseded groups, in the order of their ends; none is empty
	total  int                  // cost of the kept entries
	last   uint64               // newest number; its entry is always kept
	lost   uint64               // newest number evicted without having been superseded
	pin    uint64               // newest number that may be dropped
	closed bool
	wake   chan struct{} // created by the first reader that waits; holds a token when there is news
}

// New returns an empty, open journal.
func New[T any](o Options[T]) *Journal[T] {
	if o.Cost == nil {
		o.Cost = func(T) int { return 1 }
	}
	if o.Group == nil {
		o.Group = func(T) (string, bool) { return "", false }
	}
	j := &Journal[T]{options: o, open: make(map[string]*group[T])}
	if !o.Pinned {
		j.pin = math.MaxUint64
	}
	return j
}

// Append adds v as the newest entry, wakes waiting readers and returns the number of the entry. If the cost then
// exceeds the budget, older entries are evicted: superseded ones first, in the order in which their groups ended, then
// the oldest others. The new entry and pinned ones stay even if they exceed the budget.
//
// Every reader shares the value, so it must not be changed afterwards. Append never waits for a reader. The only error
// is [ErrClosed].
func (j *Journal[T]) Append(v T) (uint64, error) {
	cost := max(0, j.options.Cost(v))
	key, end := j.options.Group(v)

	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return 0, ErrClosed
	}
	j.last++
	n := j.last
	j.put(v, cost, j.groupOf(key, end))
	j.evict()
	wake := j.takeWaiters()
	j.mu.Unlock()

	signal(wake)
	return n, nil
}

// Last returns the number of the newest entry ever appended, or 0.
func (j *Journal[T]) Last() uint64 {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.last
}

// Close ends the record: appends fail, and readers get the remaining entries and then [io.EOF]. It wakes waiting
// readers. Closing a closed journal does nothing.
func (j *Journal[T]) Close() {
	j.mu.Lock()
	j.closed = true
	wake := j.takeWaiters()
	j.mu.Unlock()

	signal(wake)
}

// Reopen continues a closed record with its numbers. A reader that was waiting at Close and has not run since may keep
// waiting without having seen [io.EOF]. Reopening an open journal does nothing.
func (j *Journal[T]) Reopen() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = false
}

// put stores v under the newest number, as a member of a group unless g is nil. The caller holds the lock.
func (j *Journal[T]) put(v T, cost int, g *group[T]) {
	j.total += cost
	c := j.tail()
	if g != nil {
		g.add(c, j.last%chunkSize)
	}
	c.add(j.last%chunkSize, slot[T]{value: v, cost: cost, group: g})
}

// takeWaiters returns the channel that readers wait on, or nil, and detaches it for [signal]. The caller holds the
// lock.
func (j *Journal[T]) takeWaiters() chan struct{} {
	wake := j.wake
	j.wake = nil
	return wake
}

// signal wakes the readers that wait on a detached channel. It wakes one, which wakes two more, and so on, so the cost
// of an append does not depend on their number. The caller must not hold the lock, because the readers need it next.
func signal(wake chan struct{}) {
	if wake != nil {
		wake <- struct{}{} // never blocks: a channel is detached once
	}
}

// passWake wakes two other readers. The last one leaves the token for readers that have read the channel but do not
// wait on it yet.
func passWake(wake chan struct{}) {
	for range 2 {
		select {
		case wake <- struct{}{}:
		default:
			return
		}
	}
}
