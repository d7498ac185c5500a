package journal

import (
	"context"
	"fmt"
	"io"
)

// defaultLimit is the maximum number of entries that [Journal.Next] returns by default.
const defaultLimit = 256

// Entry is one entry of a record as it was when it was read.
type Entry[T any] struct {
	N          uint64 // counted from 1
	Value      T      // shared with all readers; must not be changed
	Superseded bool   // a later entry stands for this one
}

// GapError reports that entries were evicted that the reader had not read and that no later entry stands for, or, from
// [Journal.After], that a position does not belong to this record. To continue, read with after = First-1.
type GapError struct {
	After uint64 // the reader asked for the entries after this number
	First uint64 // number of the oldest entry at that moment
	Stale bool   // After was assigned in another epoch, to another entry or to none
}

// Error describes the gap.
func (e *GapError) Error() string {
	if e.Stale {
		return fmt.Sprintf("journal: number %d belongs to another epoch, the record continues at %d", e.After, e.First)
	}
	return fmt.Sprintf("journal: entries after %d are gone, the record now begins at %d", e.After, e.First)
}

// Next returns the entries numbered above after, oldest first: at least one, at most limit, or 256 if limit is not
// positive. It includes superseded entries that are still kept, flagged. The numbers may have holes where superseded
// entries were dropped. The caller owns the slice.
//
// If there are no such entries yet (also if after lies beyond the newest), Next waits for one. Its errors are:
//
//   - a *[GapError] if an entry above after was evicted that was not superseded at that time, and [Options.Load]
//     does not have it either;
//   - the error of Load, wrapped, if it failed: nothing is known to be lost, and the reader may retry;
//   - [io.EOF] if the journal is closed and nothing is left to read;
//   - ctx.Err() if the context ends while there is nothing to return.
//
// The context bounds only the wait: entries that are available are returned even if the context has ended. So a read
// with a cancelled context does not wait, and a long poll never loses an entry to its own time limit. Loading is not
// waiting, but stops when the context ends during it.
func (j *Journal[T]) Next(ctx context.Context, after uint64, limit int) ([]Entry[T], error) {
	if limit <= 0 {
		limit = defaultLimit
	}
	for {
		entries, wake, err := j.read(after, limit)
		switch {
		case entries != nil:
			return entries, nil
		case err != nil:
			return j.load(ctx, err, limit)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case wake == nil:
			j.waitChannel()
			continue // read again, because there may have been news before the channel existed
		}
		j.options.Meter.wait(1)
		select {
		case <-wake:
			passWake(wake)
		case <-ctx.Done():
		}
		j.options.Meter.wait(-1)
	}
}

// Peek returns at most limit entries numbered above after that are in memory. It is for a store that follows the
// record: it neither waits nor loads nor counts as a reader. Its only error is a *[GapError] whose First is where
// memory begins.
func (j *Journal[T]) Peek(after uint64, limit int) ([]Entry[T], error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	switch {
	case after < j.lost:
		return nil, &GapError{After: after, First: j.first()}
	case after < j.last:
		return j.collect(after+1, limit), nil
	}
	return nil, nil
}

// read returns entries, an error (a *[GapError] if the entries are no longer in memory), or the channel that readers
// wait on, if it exists.
func (j *Journal[T]) read(after uint64, limit int) ([]Entry[T], chan struct{}, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	switch {
	case after < j.lost:
		return nil, nil, &GapError{After: after, First: j.first()}
	case after < j.last:
		j.options.Meter.countLag(j.last - after)
		return j.collect(after+1, limit), nil, nil
	case j.closed:
		return nil, nil, io.EOF
	}
	return nil, j.wake, nil
}

// first returns the number of the oldest entry in memory, or the next number.
func (j *Journal[T]) first() uint64 {
	if len(j.chunks) == 0 {
		return j.last + 1
	}
	return j.chunks[0].first()
}

// waitChannel creates the channel that readers wait on. Only the first reader takes the lock for it, so that a thousand
// woken readers do not contend.
func (j *Journal[T]) waitChannel() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.wake == nil {
		j.wake = make(chan struct{}, 1)
	}
}

// collect copies at most limit entries, starting at from or the next kept number. The newest entry, which is always
// kept, must not be before from.
func (j *Journal[T]) collect(from uint64, limit int) []Entry[T] {
	chunks := j.chunks[j.find(from/chunkSize):]
	entries := make([]Entry[T], 0, j.collectSize(chunks, from, limit))
	for _, c := range chunks {
		entries = c.collect(entries, from, limit)
		if len(entries) == limit {
			break
		}
	}
	return entries
}

// collectSize returns how many entries there are to collect from a number on, or a few more.
func (j *Journal[T]) collectSize(chunks []*chunk[T], from uint64, limit int) int {
	if left := j.last - from; left < chunkSize {
		limit = min(limit, int(left)+1)
	}
	sum := 0
	for _, c := range chunks {
		if sum += c.count; sum >= limit {
			return limit
		}
	}
	return sum
}
