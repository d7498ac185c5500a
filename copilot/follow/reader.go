// Package follow reads records: those of sessions, also when the session leaves memory and comes back, and those of
// jobs, tasks and operations. A [Reader] keeps the position and returns each result of a read as one value, a [Batch].
// [SessionReader.Prompt] starts a run, and [Run] projects it for its starter.
package follow

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
)

// Entry is an entry of a session's record.
type Entry = journal.Entry[event.Event]

// Log is a log with numbered entries.
type Log[E any] interface {
	// Next returns entries above a number, or waits for one, as [journal.Journal.Next] does.
	Next(ctx context.Context, after uint64, limit int) ([]E, error)
}

// Batch is the result of one read: entries, or a gap before the next ones. An empty batch means that nothing happened
// for the duration of the reader's Idle.
type Batch[E any] struct {
	Entries []E // oldest first; the caller owns them
	Gap     *journal.GapError
}

// Reader reads a log at its own pace. It is for one goroutine and need not be closed.
type Reader[E any] struct {
	// Limit is the maximum number of entries of a batch; 0 means the default of the log.
	Limit int
	// Interval is the least time between two batches; what arrives meanwhile comes as one. A full batch is followed at once.
	Interval time.Duration
	// Idle returns how long the next read may wait. A nil Idle means no limit.
	Idle func() time.Duration
	// Retry returns how long All waits after a failed read before it reads again. With 0, or a nil Retry, the error ends it.
	Retry func(error) time.Duration

	log    Log[E]
	number func(E) uint64
	after  uint64
	next   time.Time // when the next batch may come, with an Interval
}

// New returns a reader of the entries above a number.
func New[E any](log Log[E], number func(E) uint64, after uint64) *Reader[E] {
	return &Reader[E]{log: log, number: number, after: after}
}

// Record returns a reader of the entries of a record above a number. It ends with the record, although the session may
// continue: [Session] reads on.
func Record(r *event.Record, after uint64) *Reader[Entry] { return New(r, entryNumber, after) }

func entryNumber(e Entry) uint64 { return e.N }

// Snapshot iterates over the current entries of a record without waiting. It may be used several times.
func Snapshot(ctx context.Context, r *event.Record) iter.Seq2[Batch[Entry], error] {
	return func(yield func(Batch[Entry], error) bool) { Record(r, 0).Until(ctx, r.Last())(yield) }
}

// From returns the number after which a client at a position continues, and the gap if the position does not belong to
// this record.
func From(r *event.Record, at journal.Position) (after uint64, gap *journal.GapError) {
	after, err := r.After(at)
	if errors.As(err, &gap) {
		after = gap.First - 1
	}
	return after, gap
}

// After returns the number up to which everything was read.
func (r *Reader[E]) After() uint64 { return r.after }

// Next reads once. A gap is not an error; the next read continues after it. Its errors are [io.EOF] at the end of the
// log, those of ctx, and those of reading stored entries. A canceled ctx makes a read that does not wait.
func (r *Reader[E]) Next(ctx context.Context) (Batch[E], error) {
	waiting, cancel := ctx, func() {}
	if r.Idle != nil {
		waiting, cancel = context.WithTimeout(ctx, r.Idle())
	}
	defer cancel()
	return r.read(ctx, waiting)
}

// read is Next with a context that also ends when the log is idle.
func (r *Reader[E]) read(ctx, waiting context.Context) (Batch[E], error) {
	if r.Interval > 0 {
		PauseUntil(waiting, r.next)
	}
	entries, err := r.log.Next(waiting, r.after, r.Limit)
	gap, isGap := errors.AsType[*journal.GapError](err)
	switch {
	case isGap:
		r.after, err = gap.First-1, nil
	case len(entries) > 0:
		r.after = r.number(entries[len(entries)-1])
		if len(entries) != r.Limit {
			r.next = time.Now().Add(r.Interval)
		}
	case ctx.Err() == nil && waiting.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		err = nil
	}
	return Batch[E]{entries, gap}, err
}

// All iterates to the end of the log, which is not an error. An error is the last element: that of ctx, or one of
// reading stored entries.
func (r *Reader[E]) All(ctx context.Context) iter.Seq2[Batch[E], error] {
	return func(yield func(Batch[E], error) bool) {
		idle := newIdleContext(ctx)
		defer idle.stop()
		for ctx.Err() == nil {
			waiting := ctx
			if r.Idle != nil {
				waiting = idle.restart(r.Idle())
			}
			b, err := r.read(ctx, waiting)
			if !errors.Is(err, io.EOF) && retries(ctx, r.Retry, err) {
				continue
			}
			if errors.Is(err, io.EOF) || !yield(b, err) || err != nil {
				return
			}
		}
		yield(Batch[E]{}, ctx.Err())
	}
}

// retries waits if there is another attempt after an error.
func retries(ctx context.Context, retry func(error) time.Duration, err error) bool {
	if retry == nil || err == nil || ctx.Err() != nil {
		return false
	}
	pause := retry(err)
	PauseUntil(ctx, time.Now().Add(pause))
	return pause > 0
}

// Retried returns what read returns, which is called again after the pause that retry returns for an error, as in [Reader.Retry].
func Retried[T any](ctx context.Context, retry func(error) time.Duration, read func() (T, error)) (T, error) {
	for {
		if v, err := read(); !retries(ctx, retry, err) {
			return v, err
		}
	}
}

// Until iterates up to a number that the log has reached, without waiting. An error is the last element.
func (r *Reader[E]) Until(ctx context.Context, last uint64) iter.Seq2[Batch[E], error] {
	return func(yield func(Batch[E], error) bool) {
		for r.after < last {
			b, err := r.Next(ctx)
			r.after = min(r.after, last) // numbers of superseded entries may be missing
			if i := slices.IndexFunc(b.Entries, func(e E) bool { return r.number(e) > last }); i >= 0 {
				b.Entries = b.Entries[:i]
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}
