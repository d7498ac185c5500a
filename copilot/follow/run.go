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

// RunView is the state of a run so far, for a caller that starts it and waits for its end.
type RunView struct {
	ID      string
	Prompt  event.Prompt
	Text    string              // last message of the main agent, or ""
	Tools   []event.ToolStarted // calls started so far, including those of sub-agents
	Usage   []event.ModelCalled // one per answer of a model
	Outcome event.Outcome       // "" until the run ends
	Reason  string              // of a failure
	Invalid string              // text of a failure of kind [fault.Invalid], which a retry cannot fix, or ""
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

// Run is a run that its starter follows to its end, also when the session leaves memory and comes back. It is for one
// goroutine and need not be closed.
type Run struct {
	RunView

	// Grace returns how long a run may take to end after it was cancelled because a context ended. If Grace is nil,
	// Events does not wait for it.
	Grace func(cause error) time.Duration

	reader  *SessionReader
	started uint64 // number of the last event before the prompt
	read    uint64 // number of the last event read
	missed  bool   // entries before read are missing
}

// Session returns the session as it is in memory now.
func (r *Run) Session() *copilot.Session { return r.reader.Session() }

// Cancel cancels the run unless it has ended.
func (r *Run) Cancel() { _ = r.Session().Cancel(r.ID) }

// Events iterates over the events of the session from the position of its reader to the end of the run, which is the
// last event. It omits deltas of texts that have lost pieces, because their ends hold the whole text. When ctx ends,
// the run is cancelled.
//
// An error is the last element: [fault.ErrSessionClosed], the cause of ctx when the Grace has passed, or an error of
// [SessionReader].
func (r *Run) Events(ctx context.Context) iter.Seq2[Batch[Entry], error] {
	return func(yield func(Batch[Entry], error) bool) {
		reading, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		defer context.AfterFunc(ctx, func() { r.cancelWithin(reading, context.Cause(ctx), stop) })()
		for b, err := range r.Watch(reading) {
			if err != nil && reading.Err() != nil {
				err = context.Cause(ctx)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// Watch is like Events for a caller that did not start the run: when ctx ends, the run goes on, and the error is that of ctx.
func (r *Run) Watch(ctx context.Context) iter.Seq2[Batch[Entry], error] {
	return func(yield func(Batch[Entry], error) bool) {
		for r.Outcome == "" {
			b, err := r.reader.Next(ctx)
			if errors.Is(err, io.EOF) {
				err = fault.ErrSessionClosed
			}
			b.Entries = r.apply(b.Entries)
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// cancelWithin cancels the run and stops reading when its grace has passed.
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

// apply projects entries, and omits deltas after missing entries and everything after the end of the run.
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

// IsGone reports whether the run can no longer end: the session was closed, as the event with this number says, while
// the prompt was queued. The session may be open again.
func (r *Run) IsGone(closed uint64) bool {
	_, waits := r.reader.log.host.SessionByRun(r.ID) // a suspended session keeps its run
	return closed > r.started && !waits
}
