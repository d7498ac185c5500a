package follow

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// RunView is what a run has come to so far, for whoever starts it and waits for its end.
type RunView struct {
	ID      string
	Prompt  event.Prompt
	Text    string              // the last message of the main agent; "" so far
	Tools   []event.ToolStarted // the calls that have begun, those of sub-agents included
	Usage   []event.ModelCalled // one for each answer of a model
	Outcome event.Outcome       // "" while the run goes on
	Reason  string              // of a failure
	Invalid string              // the text of a failure of the kind [fault.Invalid], which another attempt cannot mend; "" if there was none
}

// apply projects an event of the run.
func (v *RunView) apply(e event.Event) {
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

// Run is a run that its starter follows to its end, also when the session leaves memory and comes back. It is used by one goroutine and
// holds nothing that has to be closed.
type Run struct {
	RunView

	// Grace is how long a run that was cancelled because of the end of a context may take to end; nil: nobody waits for it.
	Grace func(cause error) time.Duration

	reader  *SessionReader
	started uint64 // the number of the newest event before the prompt
	read    uint64 // the number of the newest event that was read
	missed  bool   // entries are missing before that
}

// Session is the session as it is in memory now.
func (r *Run) Session() *copilot.Session { return r.reader.Session() }

// Cancel cancels the run, if it has not ended.
func (r *Run) Cancel() { _ = r.Session().Cancel(r.ID) }

// Events iterates over what happens in the session behind the position of its reader, to the end of the run, which is the last event.
// Deltas whose text has lost pieces are left out: their end has all of it. When ctx ends the run is cancelled.
//
// An error is the last that it yields: [fault.ErrSessionClosed], the cause of the end of ctx when the Grace is over, those of
// [SessionReader].
func (r *Run) Events(ctx context.Context) iter.Seq2[Batch[Entry], error] {
	return func(yield func(Batch[Entry], error) bool) {
		reading, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		defer context.AfterFunc(ctx, func() { r.cancelWithin(reading, context.Cause(ctx), stop) })()
		for r.Outcome == "" {
			b, err := r.reader.Next(reading)
			switch {
			case err != nil && reading.Err() != nil:
				err = context.Cause(ctx)
			case errors.Is(err, io.EOF):
				err = fault.ErrSessionClosed
			}
			b.Entries = r.apply(b.Entries)
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// cancelWithin cancels the run, and stops the reading when its grace is over.
func (r *Run) cancelWithin(reading context.Context, cause error, stop func()) {
	r.Cancel()
	if r.Grace != nil {
		select {
		case <-reading.Done():
		case <-time.After(r.Grace(cause)):
		}
	}
	stop()
}

// apply projects entries, and leaves out deltas behind missing entries and what follows the end of the run.
func (r *Run) apply(entries []Entry) (list []Entry) {
	for _, e := range entries {
		r.missed = r.missed || e.N != r.read+1
		r.read = e.N
		if e.Superseded && r.missed {
			continue
		}
		list = append(list, e)
		if e.Value.Run == r.ID {
			r.RunView.apply(e.Value)
		}
		if r.Outcome != "" {
			break
		}
	}
	return list
}

// IsGone says whether the run cannot end any more: the session was closed, as the event of this number says, while the prompt waited
// for its turn, though the session may be open again.
func (r *Run) IsGone(closed uint64) bool {
	_, waits := r.reader.log.host.SessionByRun(r.ID) // a suspended session keeps it
	return closed > r.started && !waits
}
