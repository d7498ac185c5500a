package copilot

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
)

// RunView is what a run has come to so far, for whoever starts it and waits for its end.
type RunView struct {
	Run     string
	Prompt  event.Prompt
	Text    string              // the last message of the main agent; "" so far
	Tools   []event.ToolStarted // the calls that have begun, those of sub-agents included
	Usage   []event.ModelCalled // one for each answer of a model
	Outcome event.Outcome       // "" while the run goes on
	Reason  string              // of a failure
	Invalid string              // the text of a failure of the kind [fault.Invalid], which another attempt cannot mend; "" if there was none
}

// take projects an event of the run.
func (v *RunView) take(e event.Event) {
	switch b := e.Body.(type) {
	case event.MessageEnded:
		if e.Agent == "" && strings.TrimSpace(b.Text) != "" {
			v.Text = b.Text
		}
	case event.ToolStarted:
		v.Tools = append(v.Tools, b)
	case event.ModelCalled:
		v.Usage = append(v.Usage, b)
	case event.SessionError:
		if b.Kind == fault.Invalid {
			v.Invalid = b.Text
		}
	case event.RunEnded:
		v.Outcome, v.Reason = b.Outcome, b.Text
	}
}

// ErrNothingHappened is yielded by [FollowedRun.Events] at its Wake.
var ErrNothingHappened = errors.New("nothing has happened in the session")

// FollowedRun is a run that its starter follows to its end, also when the session leaves memory and comes back. It is used by one
// goroutine and holds nothing that has to be closed.
type FollowedRun struct {
	RunView

	// Wake is when Events yields although nothing has happened; zero: never. It may be changed while Events yields.
	Wake time.Time
	// Grace is how long a run that was cancelled because of the end of a context may take to end; nil: nobody waits for it.
	Grace func(cause error) time.Duration

	reader  *Reader
	started uint64 // the number of the newest event before the prompt
	read    uint64 // the number of the newest event that was read
	missed  bool   // a gap is before that
}

// Prompt gives a prompt to the session of the reader. Errors: those of [Session.Prompt].
func (r *Reader) Prompt(p event.Prompt) (*FollowedRun, error) {
	s := r.Session()
	started := s.Record().Last()
	run, err := s.Prompt(p)
	if err != nil {
		return nil, err
	}
	return &FollowedRun{RunView: RunView{Run: run, Prompt: p}, reader: r, started: started, read: r.After()}, nil
}

// Session is the session as it is in memory now.
func (r *FollowedRun) Session() *Session { return r.reader.Session() }

// Cancel cancels the run, if it has not ended.
func (r *FollowedRun) Cancel() { _ = r.Session().Cancel(r.Run) }

// Events yields what happens in the session behind the position of its reader, batch by batch, to the end of the run, which is the
// last event. Deltas whose text has lost pieces are left out: their end has all of it. When ctx ends the run is cancelled.
//
// Errors that the caller may go on after: [journal.GapError], and [ErrNothingHappened] at the Wake. Any other one is the last:
// [fault.ErrSessionClosed], the cause of the end of ctx when the Grace is over, those of [Reader.Next].
func (r *FollowedRun) Events(ctx context.Context) iter.Seq2[[]journal.Entry[event.Event], error] {
	return func(yield func([]journal.Entry[event.Event], error) bool) {
		reading, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		defer context.AfterFunc(ctx, func() { r.cancelWithin(reading, context.Cause(ctx), stop) })()
		for r.Outcome == "" {
			entries, err := r.next(reading)
			if err != nil && reading.Err() != nil {
				err = context.Cause(ctx)
			}
			if !yield(entries, err) || err != nil && !canContinue(err) {
				return
			}
		}
	}
}

// cancelWithin cancels the run, and stops the reading when its grace is over.
func (r *FollowedRun) cancelWithin(reading context.Context, cause error, stop func()) {
	r.Cancel()
	if r.Grace != nil {
		select {
		case <-reading.Done():
		case <-time.After(r.Grace(cause)):
		}
	}
	stop()
}

func canContinue(err error) bool {
	var gap *journal.GapError
	return errors.As(err, &gap) || errors.Is(err, ErrNothingHappened)
}

// next waits for a batch, but no longer than until the Wake.
func (r *FollowedRun) next(reading context.Context) ([]journal.Entry[event.Event], error) {
	within, cancel := reading, func() {}
	if !r.Wake.IsZero() {
		within, cancel = context.WithDeadline(reading, r.Wake)
	}
	defer cancel()
	entries, err := r.reader.Next(within, 0)
	switch {
	case err == nil:
		return r.take(entries), nil
	case errors.Is(err, io.EOF):
		return nil, fault.ErrSessionClosed
	case reading.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return nil, ErrNothingHappened
	}
	return nil, err
}

// take projects a batch, and leaves out deltas behind gaps and what follows the end of the run.
func (r *FollowedRun) take(entries []journal.Entry[event.Event]) (list []journal.Entry[event.Event]) {
	for _, e := range entries {
		r.missed = r.missed || e.N != r.read+1
		r.read = e.N
		if e.Superseded && r.missed {
			continue
		}
		list = append(list, e)
		if e.Value.Run == r.Run {
			r.RunView.take(e.Value)
		}
		if r.Outcome != "" {
			break
		}
	}
	return list
}

// IsGone says whether the run cannot end any more: the session was closed, as the event of this number says, while the prompt waited
// for its turn, though the session may be open again.
func (r *FollowedRun) IsGone(closed uint64) bool {
	_, waits := r.reader.host.SessionByRun(r.Run) // a suspended session keeps it
	return closed > r.started && !waits
}
