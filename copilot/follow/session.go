package follow

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// touchEvery is how often a [SessionReader] looks up its session, so that the session stays in memory, or is polled
// while another process holds it.
const touchEvery = 15 * time.Second

// SessionReader reads the record of a session, also when the session leaves memory and comes back. It ends when the
// session is closed, whether or not it was deleted. Its Next also returns the errors of [copilot.Host.Session] for a
// session that cannot be found again.
type SessionReader struct {
	*Reader[Entry]

	log *sessionLog
}

// Session returns a reader of the entries of a session above a number.
func Session(h *copilot.Host, s *copilot.Session, after uint64) *SessionReader {
	l := &sessionLog{host: h, touched: time.Now()}
	l.session.Store(s)
	return &SessionReader{New(l, entryNumber, after), l}
}

// Session returns the session as it is in memory, or last was. It is safe for concurrent use.
func (r *SessionReader) Session() *copilot.Session { return r.log.session.Load() }

// Prompt sends a prompt to the session. Its errors are those of [copilot.Session.Prompt].
func (r *SessionReader) Prompt(p event.Prompt) (*Run, error) {
	s := r.Session()
	started := s.Record().Last()
	id, err := s.Prompt(p)
	if err != nil {
		return nil, err
	}
	return &Run{RunView: RunView{ID: id, Prompt: p}, reader: r, started: started, read: r.After()}, nil
}

// Run returns a run of the session that begins after the position of the reader: see [RunBegin].
func (r *SessionReader) Run(id string) *Run {
	return &Run{RunView: RunView{ID: id}, reader: r, started: r.After(), read: r.After()}
}

// sessionLog is the record of a session, whichever object holds it.
type sessionLog struct {
	host    *copilot.Host
	session atomic.Pointer[copilot.Session]
	touched time.Time

	due     context.Context //nolint:containedctx // of [sessionLog.untilDue]; it ends by itself
	dueOf   context.Context //nolint:containedctx // its parent
	release context.CancelFunc
}

// Next implements [Log].
func (l *sessionLog) Next(ctx context.Context, after uint64, limit int) ([]Entry, error) {
	for {
		if time.Since(l.touched) >= touchEvery {
			l.touched = time.Now()
			_, _ = l.host.Session(ctx, l.session.Load().ID()) // a failure to read the session now is not the end
		}
		waiting := l.untilDue(ctx)
		entries, err := l.session.Load().Record().Next(waiting, after, limit)
		isDue := waiting.Err() != nil && ctx.Err() == nil
		switch {
		case errors.Is(err, io.EOF):
			err = l.reopen(ctx, after)
		case isDue && errors.Is(err, context.DeadlineExceeded):
			err = nil
		default:
			return entries, err
		}
		if err != nil {
			return nil, err
		}
	}
}

// untilDue returns a context that ends when the session is to be looked up. Reads with the same context share one until then, to
// save a timer for each entry of a busy record.
func (l *sessionLog) untilDue(ctx context.Context) context.Context {
	if l.due != nil {
		if _, restarts := ctx.(*idleContext); l.dueOf == ctx && l.due.Err() == nil && !restarts {
			return l.due
		}
		l.release()
		l.due = nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= touchEvery {
		return ctx // the next read comes soon enough
	}
	l.dueOf = ctx
	l.due, l.release = context.WithDeadline(ctx, l.touched.Add(touchEvery))
	return l.due
}

// reopen finds the session again when its record has ended, because it was closed or left memory. In a new object it
// continues from the same position.
func (l *sessionLog) reopen(ctx context.Context, after uint64) error {
	before := l.session.Load()
	s, err := l.host.Session(ctx, before.ID())
	switch {
	case errors.Is(err, fault.ErrSessionNotFound) && before.Info().State == copilot.StateClosed, err == nil && s == before:
		return io.EOF
	case err != nil:
		return err
	}
	l.session.Store(s)
	_, err = s.Record().After(before.Record().Position(after)) // the only possible error is a gap
	return err
}
