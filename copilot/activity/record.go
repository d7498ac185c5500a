package activity

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/journal"
)

// Record is one activity. It is safe for concurrent use.
type Record[H, E any] struct {
	log     *Log[H, E]
	id      string
	journal *journal.Journal[E]     // nil if another process writes or has written it
	stop    context.CancelCauseFunc // cancels the work
	done    chan struct{}           // closed when the work has ended
	writing chan struct{}           // contains a token while a batch is being written

	mu       sync.Mutex
	head     H
	next     *batch[H, E]
	saved    time.Time // when the head was last stored
	standing standing
	released bool
}

// standing is the relation of a record to the store.
type standing int

const (
	current standing = iota // everything is stored
	pending                 // the store has refused its end
	lost                    // another process owns it, and its stored state is authoritative
)

// headEvery is the maximum age of the stored head. Later changes follow from the entries.
const headEvery = 2 * time.Second

func newRecord[H, E any](l *Log[H, E], h H) *Record[H, E] {
	return &Record[H, E]{
		log: l, id: *l.kind.ID(&h), head: h, journal: journal.New(journal.Options[E]{}), stop: func(error) {},
		done: make(chan struct{}), writing: make(chan struct{}, 1), next: &batch[H, E]{}, saved: time.Now(),
	}
}

// ID returns the id of the activity, which is unique within its kind.
func (r *Record[H, E]) ID() string { return r.id }

// batch is what one transaction writes. Concurrent writers share it.
type batch[H, E any] struct {
	entries []E
	changes []func(*H)
	err     error
}

// Write numbers entries, stores them together with the change of the head, which may be nil, and then shows
// them to readers: all of it or nothing. Readers see the end of an activity even if the store refuses it, so
// that no reader waits for ever. Errors: [ErrEnded], and those of a store that refuses the entries.
func (r *Record[H, E]) Write(change func(*H), entries ...E) error {
	r.mu.Lock()
	b := r.next
	b.entries = append(b.entries, entries...)
	if change != nil {
		b.changes = append(b.changes, change)
	}
	r.mu.Unlock()
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	r.mu.Lock()
	mine := r.next == b // otherwise another writer has written it
	if mine {
		r.next = &batch[H, E]{}
	}
	r.mu.Unlock()
	if mine {
		b.err = r.write(b)
	}
	return b.err
}

// write writes a batch. Only one goroutine may call it at a time.
func (r *Record[H, E]) write(b *batch[H, E]) error {
	r.mu.Lock()
	head, saved := r.head, r.saved
	r.mu.Unlock()
	if r.log.hasEnded(head) {
		return ErrEnded
	}
	head, entries := r.log.apply(head, End[H, E]{b.entries, func(h *H) {
		for _, change := range b.changes {
			change(h)
		}
	}})
	ends := r.log.hasEnded(head)
	withHead := ends || len(b.changes) > 0 || time.Since(saved) >= headEvery
	err := r.save(head, entries, withHead)
	if err != nil && !ends {
		return err
	}
	r.show(head, entries, withHead, err)
	return nil
}

func (l *Log[H, E]) hasEnded(h H) bool { return !l.kind.Ended(h).IsZero() }

// apply numbers entries and applies them to a head.
func (l *Log[H, E]) apply(h H, end End[H, E]) (H, []E) {
	at := time.Now().UTC().Truncate(time.Millisecond)
	entries := make([]E, len(end.Entries))
	for i, e := range end.Entries {
		entries[i] = l.kind.Number(h, e, at)
		h = l.kind.Apply(h, entries[i])
	}
	if end.Change != nil {
		end.Change(&h)
	}
	return h, entries
}

// show makes entries visible to readers. err is the error of storing them.
func (r *Record[H, E]) show(h H, entries []E, withHead bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.head = h
	if withHead {
		r.saved = time.Now()
	}
	r.updateStanding(err)
	if r.standing != lost {
		for _, e := range entries {
			_, _ = r.journal.Append(e) // nothing else closes it
		}
	}
	if r.log.hasEnded(h) {
		r.journal.Close()
	}
}

// updateStanding updates the standing after a write to the store. The caller must hold the lock.
func (r *Record[H, E]) updateStanding(err error) {
	switch {
	case isLost(err), r.standing == lost:
		r.standing = lost
	case err != nil:
		r.standing = pending
	default:
		r.standing = current
	}
}

// Head returns the current head.
func (r *Record[H, E]) Head() H {
	if r.IsElsewhere() {
		return r.storedHead()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.head
}

// IsElsewhere reports whether another process has written the authoritative state.
func (r *Record[H, E]) IsElsewhere() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.journal == nil || r.standing == lost
}

// Next returns entries with numbers above after, at most limit if limit is positive. It waits for an entry if
// there is none yet, and returns [io.EOF] after the last one. If ctx is done, it does not wait: it returns
// the available entries, or else the error of ctx.
func (r *Record[H, E]) Next(ctx context.Context, after uint64, limit int) ([]E, error) {
	if r.IsElsewhere() {
		return r.poll(ctx, after, limit)
	}
	entries, err := r.journal.Next(ctx, after, limit)
	switch {
	case errors.Is(err, io.EOF) && r.IsElsewhere():
		return r.poll(ctx, after, limit)
	case err != nil:
		return nil, err
	}
	list := make([]E, len(entries))
	for i, e := range entries {
		list[i] = e.Value
	}
	return list, nil
}

// Present returns all available entries above a number, without waiting.
func (r *Record[H, E]) Present(ctx context.Context, after uint64) (list []E, err error) {
	now, cancel := context.WithCancel(ctx)
	cancel()
	for {
		some, err := r.Next(now, after+uint64(len(list)), 0)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, context.Canceled):
			return list, nil
		case err != nil:
			return nil, err
		}
		list = append(list, some...)
	}
}

// Cancel cancels the work and returns when it has ended or ctx is done. Errors: [ErrEnded] if the activity
// has already ended, kind [fault.Busy] if another process owns it.
func (r *Record[H, E]) Cancel(ctx context.Context) error {
	switch {
	case r.IsElsewhere():
		return r.cancelElsewhere(ctx)
	case r.log.hasEnded(r.Head()):
		return ErrEnded
	}
	r.stop(ErrCanceled)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop cancels the work with a cause.
func (r *Record[H, E]) Stop(cause error) { r.stop(cause) }

// Release evicts an activity that has ended from memory as soon as it is stored.
func (r *Record[H, E]) Release() {
	r.mu.Lock()
	r.released = true
	isStored := r.standing != pending
	r.mu.Unlock()
	if isStored {
		r.log.evict(r)
	}
}
