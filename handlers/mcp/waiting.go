package mcp

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
)

// result is a run as far as a call has followed it.
type result struct {
	SessionID string     `json:"sessionId"`
	RunID     string     `json:"runId"`
	State     string     `json:"state" jsonschema:"completed, failed, cancelled or interrupted: the run has ended; waiting: call answer; working or queued: call wait"`
	Answer    string     `json:"answer,omitempty" jsonschema:"the last message of the agent so far"`
	Reason    string     `json:"reason,omitempty" jsonschema:"of a failure"`
	Questions []question `json:"questions,omitempty" jsonschema:"the open questions"`
	Last      uint64     `json:"last" jsonschema:"number of the last event read; see read_events"`
}

// The states of a run that has not ended.
const (
	stateWaiting = "waiting" // for an answer
	stateWorking = "working"
	stateQueued  = "queued" // behind another run, or for a slot
)

// waiting is a call that waits for a run. It is for one goroutine.
type waiting struct {
	run      *follow.Run
	deadline deadline
	progress progress

	seen  uint64 // the newest event when the call came: questions up to here may have been answered since they were asked
	last  uint64
	begun bool             // the run works or waits for an answer
	open  follow.Questions // for a person
}

// newWaiting returns a call that reads from after on.
func newWaiting(c call, run *follow.Run, d deadline, after, seen uint64) *waiting {
	return &waiting{run: run, deadline: d, progress: progress{call: c}, last: after, seen: seen}
}

// follow reads events until the run has ended, a question is open, the deadline has passed or the portal stops.
func (w *waiting) follow(ctx context.Context, events iter.Seq2[follow.Batch[follow.Entry], error]) (result, error) {
	w.addMissed()
	if w.last >= w.seen && len(w.open) > 0 {
		return w.result(), nil
	}
	for b, err := range events {
		switch {
		case err == nil:
		case w.isCutOff(ctx, err):
			return w.result(), nil
		default:
			return result{}, err
		}
		w.batch(ctx, b)
		if w.last >= w.seen && (len(w.open) > 0 || w.deadline.hasPassed()) {
			break
		}
	}
	return w.result(), nil
}

// isCutOff reports whether a read failed because the portal stops. The run may go on in another process, or in the next one.
func (w *waiting) isCutOff(ctx context.Context, err error) bool {
	if isStopping(ctx) {
		return true
	}
	i := w.run.Session().Info()
	return errors.Is(err, fault.ErrSessionClosed) && (i.Owner != 0 || i.State != copilot.StateClosed)
}

func (w *waiting) batch(ctx context.Context, b follow.Batch[follow.Entry]) {
	switch {
	case b.Gap != nil:
		w.last = b.Gap.First - 1
		w.addMissed()
		w.progress.report(ctx, "some events are no longer kept")
	case len(b.Entries) == 0 && w.deadline.hasPassed():
		w.last = max(w.last, w.seen) // nothing is left to read
	case len(b.Entries) == 0:
		w.progress.report(ctx, stateText(w.begun))
	}
	for _, e := range b.Entries {
		w.last = e.N
		if e.Value.Run == w.run.ID {
			w.event(ctx, e)
		}
	}
}

// event notes an event of the run. It reports those that happen while the call waits.
func (w *waiting) event(ctx context.Context, e follow.Entry) {
	w.begun = true
	switch b := e.Value.Body.(type) {
	case event.QuestionAsked:
		w.ask(b.Question)
	case event.QuestionClosed:
		w.open = slices.DeleteFunc(w.open, func(q event.Question) bool { return q.ID == b.ID })
	}
	if e.N > w.seen {
		w.progress.report(ctx, progressText(e.Value.Body))
	}
}

func (w *waiting) ask(q event.Question) {
	if q.NeedsPerson() {
		w.open.Add(q)
	}
}

// addMissed adds the open questions of the run that the record may no longer have, and removes those that are closed.
func (w *waiting) addMissed() {
	s := w.run.Session()
	if s.Info().Run != w.run.ID {
		return
	}
	w.open = slices.DeleteFunc(w.open, func(q event.Question) bool { return !s.HasOpenQuestion(q.ID) })
	for _, q := range s.OpenQuestions() {
		w.ask(q)
	}
}

func (w *waiting) result() result {
	r := result{
		SessionID: w.run.Session().ID(), RunID: w.run.ID, State: w.state(), Answer: w.run.Text, Reason: w.run.Reason, Last: w.last,
	}
	if w.run.Outcome == "" {
		for _, q := range w.open {
			r.Questions = append(r.Questions, describe(q))
		}
	}
	return r
}

func (w *waiting) state() string {
	switch {
	case w.run.Outcome != "":
		return string(w.run.Outcome)
	case len(w.open) > 0:
		return stateWaiting
	}
	return stateText(w.begun)
}

func stateText(begun bool) string {
	if begun {
		return stateWorking
	}
	return stateQueued
}
