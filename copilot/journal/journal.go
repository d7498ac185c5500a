package journal

import (
	"context"
	"errors"
	"math"
	"sync"
)

// ErrClosed is returned by [Journal.Append] between [Journal.Close] and [Journal.Reopen].
var ErrClosed = errors.New("journal: closed")

// Options say what entries cost and which of them stand for others. The zero value keeps everything.
//
// Cost and Group are called once for each append, before it takes effect, in the appending goroutine and without a lock
// held. They may therefore be called concurrently, and may call the journal's methods.
type Options[T any] struct {
	// Budget is the total cost to keep, in the units of Cost. 0 or less means unbounded.
	Budget int

	// Cost returns what one entry costs, for instance its size in bytes. Less than 0 counts as 0; the budget and the
	// greatest cost together must fit an int. Nil means that every entry costs 1.
	Cost func(T) int

	// Group returns the key of the group that an entry belongs to, and whether the entry ends it. An end supersedes all
	// earlier entries of its key that are not ends themselves; it is never superseded. After its end a key may be used
	// again, for a new group. Entries without a key stand alone. Nil means that all do.
	Group func(T) (key string, end bool)

	// Pinned keeps every entry, whatever the budget, until [Journal.Unpin] says that a store has it.
	Pinned bool

	// Load returns entries numbered above after from a store, oldest first: at least one, at most limit. [Journal.Next] calls
	// it for what memory has no more, in the goroutine of the reader and without a lock held, so it is called concurrently.
	// The slice becomes the reader's own.
	//
	// As in memory, numbers may have holes only where entries were superseded. What else the store lost or never had it
	// must say with a *[GapError] whose First is where its record begins again; no entries and no error say that it has
	// none above after. An entry is superseded if it is flagged or if its end is returned with it. The context ends at
	// the latest with the reader's, unless that had ended before: a load should set itself a time limit.
	//
	// Nil means that what was evicted is gone.
	Load func(ctx context.Context, after uint64, limit int) ([]Entry[T], error)

	// Epoch makes the numbers of this journal part of a [Position]. No earlier journal of the same record may have had it,
	// not even one that its store has forgotten; a random number will do.
	Epoch uint64

	// Earlier are the epochs before this one, each with the newest number of it that is still the same entry now: what the
	// store had when the epoch ended. Positions of other epochs are stale.
	Earlier []Position

	// Meter counts what readers do; it may be shared by journals. Nil means that nobody does.
	Meter *Meter
}

// Journal is a record of entries, numbered from 1 without omission in the order in which they were appended. Make one
// with [New] or [Restore]. All methods may be called concurrently, by any number of writers and readers.
//
// It holds no goroutine and no resource but memory: it may be dropped without [Journal.Close], whose purpose is to let
// readers come to an end.
type Journal[T any] struct {
	options Options[T]

	// With a Mutex, one reader goes faster, but a thousand replay at little more than half the speed and delay the writer.
	mu     sync.RWMutex
	chunks []*chunk[T]          // the kept entries, by number; none of the chunks is empty
	open   map[string]*group[T] // groups that have no end yet; none is empty
	ended  []*group[T]          // superseded groups, in the order of their ends; none is empty
	total  int                  // cost of the kept entries
	last   uint64               // the newest number; its entry is always kept
	lost   uint64               // the newest number evicted without having been superseded
	pin    uint64               // the newest number that may be dropped
	closed bool
	wake   chan struct{} // made by the first reader that waits; holds a token when there is news
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

// Append adds v as the newest entry, wakes the readers that wait, and returns the number of the entry. When the record
// then costs more than its budget, older entries are evicted: superseded ones first, beginning with the group that ended
// first, then the oldest others. Kept even if the budget is exceeded is the new entry itself, and what is pinned.
//
// The value is shared with every reader, so it must not be changed afterwards. Append never waits for a reader. The only
// error is [ErrClosed].
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

// Last returns the number of the newest entry ever appended, 0 if there was none.
func (j *Journal[T]) Last() uint64 {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.last
}

// Close ends the record: nothing can be appended any more, and readers get what is left and then [io.EOF]. It wakes
// those that wait. Closing a closed journal does nothing.
func (j *Journal[T]) Close() {
	j.mu.Lock()
	j.closed = true
	wake := j.takeWaiters()
	j.mu.Unlock()

	signal(wake)
}

// Reopen lets a closed record go on; its numbers continue. A reader that was waiting at the Close and has not run since
// may simply go on waiting, without having seen [io.EOF]. Reopening an open journal does nothing.
func (j *Journal[T]) Reopen() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = false
}

// put keeps v under the newest number, as a member of a group or, with nil, of none. The caller holds the lock.
func (j *Journal[T]) put(v T, cost int, g *group[T]) {
	j.total += cost
	c := j.tail()
	if g != nil {
		g.add(c, j.last%chunkSize)
	}
	c.add(j.last%chunkSize, slot[T]{value: v, cost: cost, group: g})
}

// takeWaiters returns the channel that readers wait on, for [signal], and nil if none does. The caller holds the lock.
func (j *Journal[T]) takeWaiters() chan struct{} {
	wake := j.wake
	j.wake = nil
	return wake
}

// signal wakes the readers who wait on the channel, which has been taken. It wakes one of them, who wakes two, and so on:
// thus an append costs the same however many wait. It is called without the lock, which the readers want next.
func signal(wake chan struct{}) {
	if wake != nil {
		wake <- struct{}{} // there is room: a channel is taken once
	}
}

// passWake is what a reader does with the token that woke it: it wakes two others. The last one leaves the token for readers
// who have seen the channel and do not wait on it yet.
func passWake(wake chan struct{}) {
	for range 2 {
		select {
		case wake <- struct{}{}:
		default:
			return
		}
	}
}
