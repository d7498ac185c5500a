package copilot

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
)

// touchEvery is how often a [Reader] that waits asks for its session, so that it
// stays in memory and is followed while another process has it.
const touchEvery = 15 * time.Second

// Reader reads the record of a session on and on, also when the session leaves
// memory and comes back. It is used by one goroutine, but for [Reader.Session], and holds nothing that has to
// be closed.
type Reader struct {
	host    *Host
	session atomic.Pointer[Session]
	after   uint64
}

// Reader reads a session's record behind a number.
func (h *Host) Reader(s *Session, after uint64) *Reader {
	r := &Reader{host: h, after: after}
	r.session.Store(s)
	return r
}

// Session is the session as it is in memory now, or was last. It may be called by
// anybody.
func (r *Reader) Session() *Session { return r.session.Load() }

// After is the number up to which everything was returned.
func (r *Reader) After() uint64 { return r.after }

// Next waits for what follows and returns it, at most limit entries, as the Next of
// the [event.Record] does. A [journal.GapError] says that some are gone, of which the next call reads
// what stands behind them. The end of the record, [io.EOF], is that of a session
// that was closed, deleted or not. Other errors: those of ctx, and those of [Host.Session] for one
// that cannot be found again.
func (r *Reader) Next(ctx context.Context, limit int) ([]journal.Entry[event.Event], error) {
	for {
		entries, err := r.readOnce(ctx, limit)
		var gap *journal.GapError
		switch {
		case err == nil:
			r.after = entries[len(entries)-1].N
			return entries, nil
		case errors.As(err, &gap):
			r.after = gap.First - 1
			return nil, err
		case errors.Is(err, io.EOF):
			err = r.reopen(ctx)
		case errors.Is(err, errSilent):
			_, _ = r.host.Session(ctx, r.Session().id) // that it cannot be read now is no reason to end
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
}

// errSilent says that nothing has happened for a while.
var errSilent = errors.New("nothing happens")

// readOnce is one read, as long as the session needs no look.
func (r *Reader) readOnce(ctx context.Context, limit int) ([]journal.Entry[event.Event], error) {
	within, cancel := context.WithTimeoutCause(ctx, touchEvery, errSilent)
	defer cancel()
	entries, err := r.Session().record.Next(within, r.after, limit)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(within), errSilent) && errors.Is(err, context.DeadlineExceeded) {
		return nil, errSilent
	}
	return entries, err
}

// reopen looks the session up where its record has ended: it was closed, or has left
// memory. What is another object by now is read on from the same position.
func (r *Reader) reopen(ctx context.Context) error {
	before := r.Session()
	s, err := r.host.Session(ctx, before.id)
	switch {
	case errors.Is(err, fault.ErrSessionNotFound) && before.Info().State == StateClosed, err == nil && s == before:
		return io.EOF
	case err != nil:
		return err
	}
	at := before.record.Position(r.after)
	r.session.Store(s)
	after, err := s.record.After(at)
	var gap *journal.GapError
	if errors.As(err, &gap) {
		r.after = gap.First - 1
		return err
	}
	r.after = after
	return err
}
