package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// writer is the state of the goroutine that writes.
type writer struct {
	*Store
	db      *database
	leases  map[string]*Lease
	begun   map[activity]struct{} // activities that this process writes
	todo    []*Lease              // those with something to write
	seen    map[int64]heartbeatSeen
	newest  time.Time // last change stored
	changed []string  // subjects that the cluster does not know of yet
	grouped int       // in a cluster: about how many sessions are in a group
	node    string    // in a cluster: of this machine
	applied uint64    // in a cluster: newest sequence of the log that this process has found in a file
	beat    time.Time // when the last heartbeat was written
	pause   time.Duration
	retry   time.Time // no attempt before; zero if the last group was written

	examined time.Time // when damage that a reader had found was last looked for

	rewrites        []*rewrite
	rewriteFailures int       // consecutive failures of the first rewrite
	rewriteAfter    time.Time // no attempt before
}

// First and longest pause before a retry.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
)

func (w *writer) run(ctx context.Context) {
	defer close(w.done)
	beat := time.NewTicker(w.options.Heartbeat)
	defer beat.Stop()
	for w.wait(beat.C); !w.isClosing(); w.wait(beat.C) {
		stored := w.writeOnce(ctx)
		w.reportChanges()
		if stored {
			w.rewriteStep(ctx)
		}
		w.pauseBetweenGroups()
	}
	w.end = w.finish(ctx)
}

// wait returns when there is something to do.
func (w *writer) wait(beat <-chan time.Time) {
	var retry <-chan time.Time
	if !w.retry.IsZero() {
		retry = time.After(time.Until(w.retry))
	}
	select {
	case <-w.wake:
	case <-w.urgent:
	case <-w.closing:
	case <-retry:
	case <-beat:
	}
}

// pauseBetweenGroups lets the next group grow. In a cluster, the pause depends on how many sessions were in the groups before, of this node and
// others: while there are few, clients of other nodes wait for nothing but this pause; when there are many, longer groups cost the log and all
// nodes less.
func (w *writer) pauseBetweenGroups() {
	const perSession, longest = 2 * time.Millisecond, 50 * time.Millisecond
	pause := w.options.Delay
	if w.options.Cluster != nil {
		pause = min(time.Duration(max(1, w.grouped))*perSession, longest)
		w.grouped /= 2 // a group that was written early is small
	}
	select {
	case <-time.After(pause):
	case <-w.urgent:
		signal(w.wake)
	case <-w.closing:
	}
}

// writeOnce writes a group, unless the last one has just failed, and runs the requests of waiting callers. It reports
// whether the last group was written.
func (w *writer) writeOnce(ctx context.Context) bool {
	w.collect()
	if time.Now().After(w.retry) {
		w.attempt(ctx)
	}
	w.examine(ctx)
	w.mu.Lock()
	requests := w.requests
	w.requests = nil
	w.mu.Unlock()
	for _, r := range requests {
		switch {
		case w.isClosing(): // each might wait for locks
			r.done <- ErrClosed
		case r.started.CompareAndSwap(false, true):
			r.done <- w.try(ctx, func(ctx context.Context) error { return r.run(ctx, w) })
		}
	}
	return w.retry.IsZero()
}

// isClosing reports whether the store is being closed.
func (w *writer) isClosing() bool {
	select {
	case <-w.closing:
		return true
	default:
		return false
	}
}

// attempt writes a group, and the heartbeat when due, and schedules a retry if that fails.
func (w *writer) attempt(ctx context.Context) {
	now := time.Now()
	due := now.Sub(w.beat) >= w.options.Heartbeat || !w.retry.IsZero()
	w.mu.Lock()
	marked := len(w.marks) > 0
	w.mu.Unlock()
	if len(w.todo) == 0 && !due && !marked {
		return
	}
	err := w.try(ctx, func(ctx context.Context) error {
		err := w.flush(ctx)
		if due && (err == nil || isRefusal(err)) {
			err = errors.Join(err, w.heartbeat(ctx))
		}
		return err
	})
	if err == nil {
		if due {
			w.beat = now
		}
		w.retry, w.pause = time.Time{}, 0
		w.clearFailure()
		return
	}
	w.pause = min(max(2*w.pause, firstPause), maxPause)
	w.retry = time.Now().Add(w.pause)
	w.fail(w.options.failure(err))
}

// collect takes the queued data, and drops that of leases that were lost meanwhile: after the file was replaced, their keys may belong to other
// sessions.
func (w *writer) collect() {
	w.todo = slices.DeleteFunc(w.todo, func(l *Lease) bool { return w.leases[l.id] != l })
	w.mu.Lock()
	dirty := w.dirty
	w.dirty = nil
	w.mu.Unlock()
	for _, l := range dirty {
		if w.leases[l.id] != l {
			continue
		}
		l.takePending()
		if !l.queued {
			l.queued = true
			w.todo = append(w.todo, l)
		}
	}
}

// flush writes all queued data.
func (w *writer) flush(ctx context.Context) error {
	w.collect()
	if err := w.writePositions(ctx); err != nil {
		return err
	}
	err := w.group(ctx, w.todo)
	if isRefusal(err) {
		return w.eachAlone(ctx)
	}
	if err != nil {
		return err
	}
	for _, l := range w.todo {
		l.queued = false
	}
	clear(w.todo)
	w.todo = w.todo[:0]
	return nil
}

// eachAlone writes the queued data of each session in a group of its own. What the file refuses stays queued, and is the error.
func (w *writer) eachAlone(ctx context.Context) error {
	var refused error
	for _, l := range slices.Clone(w.todo) {
		err := w.group(ctx, []*Lease{l})
		switch {
		case isRefusal(err):
			refused = fmt.Errorf("session %s: %w", l.id, err)
		case err != nil:
			return err
		default:
			l.queued = false
			w.todo = slices.DeleteFunc(w.todo, func(other *Lease) bool { return other == l })
		}
	}
	return refused
}

// try runs do with the file. It reopens the file if it was replaced, or after an error that reopening may repair. It
// rebuilds a damaged index of texts, or moves a damaged file aside, and runs do again. It does not run do with the file of a cluster's node.
func (w *writer) try(ctx context.Context, do func(context.Context) error) error {
	if !w.db.isUsable() {
		if err := w.open(ctx, false); err != nil {
			return err
		}
	}
	err := w.checkCluster(ctx)
	if err == nil {
		err = w.options.failure(do(ctx))
	}
	if isIndexDamage(err) && w.db.rebuildIndex(ctx) == nil {
		err = w.options.failure(do(ctx))
	}
	k := kind(err)
	if k == Corrupt {
		if err := w.open(ctx, true); err != nil {
			return err
		}
		return do(ctx)
	}
	if k == ReadOnly || k == Failed && !isRefusal(err) {
		w.db.failed = true
	}
	return err
}

// finish writes the remaining data, releases everything and closes the file. A killed store is only closed.
func (w *writer) finish(ctx context.Context) error {
	end := w.releaseAll
	if w.killed {
		end = w.simulateDeath
		w.endLeases()
	}
	for _, l := range w.leases {
		l.stop(ErrClosed) // an entry accepted from now on would not be written
	}
	var err error
	if w.db != nil && !w.db.failed || len(w.leases)+len(w.begun) > 0 { // otherwise it was never written
		err = w.options.failure(w.try(ctx, end))
	}
	waiting := w.endLeases()
	w.mu.Lock()
	requests := w.requests
	w.requests = nil
	w.mu.Unlock()
	for _, r := range requests {
		r.done <- ErrClosed
	}
	w.closeFile()
	_ = w.read.Load().Close()
	if err == nil || waiting == 0 && (kind(err) == ReadOnly || kind(err) == Clustered) { // nothing is lost
		return nil
	}
	return fmt.Errorf("cannot store %d entries: %w", waiting, err)
}

// endLeases ends all leases and returns how many entries were not written.
func (w *writer) endLeases() (waiting int) {
	for _, l := range w.leases {
		waiting += len(l.writing.entries)
		l.finish(ErrClosed)
	}
	clear(w.leases)
	return waiting
}

// releaseAll writes the remaining data and releases everything.
func (w *writer) releaseAll(ctx context.Context) error {
	refused := w.flush(ctx)
	if refused != nil && !isRefusal(refused) {
		return refused
	}
	return errors.Join(refused, w.db.transaction(ctx, func() error {
		if err := w.changeHeld(ctx); err != nil {
			return err
		}
		for _, table := range []string{"session", "activity"} {
			if _, err := w.db.exec(ctx, fmt.Sprintf("UPDATE %s SET owner = NULL WHERE owner = ?", table), w.self.key); err != nil {
				return err
			}
		}
		_, err := w.db.exec(ctx, "DELETE FROM owner WHERE key = ?", w.self.key)
		return err
	}))
}

// simulateDeath makes this owner look dead: its process started at another time and has no heartbeat.
func (w *writer) simulateDeath(ctx context.Context) error {
	_, err := w.db.exec(ctx, "UPDATE owner SET start = 'ended', beat = 0 WHERE key = ?", w.self.key)
	return err
}
