package jobs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/jobs/book"
)

// grace is how long a run that was cancelled may take to end.
const grace = 10 * time.Second

// answer is what the agent has said by the job tools in one round.
type answer struct {
	called map[string]bool
	last   string // of the two booleans, "" if it called none
	reason string // that it gave for it
}

// no is why a condition does not hold.
func (a answer) no() string {
	if a.last == "" {
		return "the agent called neither " + book.BooleanTrue + " nor " + book.BooleanFalse + "."
	}
	return ended(a.reason)
}

// ended is a text with the full stop that it may lack.
func ended(s string) string {
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// missing are those of the tools that were not called. A boolean that was taken back by the other one does not count,
// unless both are wanted.
func (a answer) missing(tools []string) (list []string) {
	both := slices.Contains(tools, book.BooleanTrue) && slices.Contains(tools, book.BooleanFalse)
	for _, t := range tools {
		takenBack := (t == book.BooleanTrue || t == book.BooleanFalse) && a.last != t && !both
		if !a.called[t] || takenBack {
			list = append(list, t)
		}
	}
	return list
}

// refusal is the end of a task by job_prerequisite_failed.
type refusal struct{ reason string }

func (r *refusal) Error() string { return "a prerequisite is missing: " + r.reason }

// round is a run that is followed.
type round struct {
	*worker

	run     string
	from    uint64 // the number of the newest event before it
	answer  answer
	refused *refusal
	invalid string // a failure that another attempt cannot mend
}

// request gives a prompt to the agent and follows the run to its end.
func (w *worker) request(ctx context.Context, text string) (answer, error) {
	p := copilot.Prompt{Text: text, By: Origin}
	if w.borrowed != nil {
		tools := withJobTools(w.seat.session().Tools())
		p.Tools = &tools
	}
	session := w.seat.session()
	from := session.Record().Last()
	run, err := session.Prompt(p)
	switch {
	case errors.Is(err, copilot.ErrSessionClosed):
		return answer{}, errClosed
	case err != nil:
		return answer{}, faultOf(err)
	}
	defer context.AfterFunc(ctx, func() { _ = session.Cancel(run) })() // it may have ended
	r := &round{worker: w, run: run, from: from, answer: answer{called: map[string]bool{}}}
	err = r.follow(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return r.answer, err
}

// What people have done is not done again against their will.
var (
	errClosed  = copilot.Errorf(copilot.Invalid, "its session was closed by somebody")
	errStopped = copilot.Errorf(copilot.Invalid, "its work was cancelled by somebody in the session")
)

// follow reads to the end of the run. When ctx ends it waits a little for it in a borrowed session; others are closed.
func (r *round) follow(ctx context.Context) error {
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		if r.borrowed == nil || errors.Is(context.Cause(ctx), activity.ErrStopping) {
			stop()
			return
		}
		select {
		case <-reading.Done():
		case <-time.After(grace):
			stop()
		}
	})()
	for {
		entries, err := r.seat.reader.Next(reading, 0)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap):
			return &crash{errors.New("a part of what the agent has done was more than the portal keeps")}
		case errors.Is(err, io.EOF):
			return errClosed
		case err != nil:
			return &crash{err}
		}
		for _, e := range entries {
			if e.Superseded {
				continue // what stands for it follows
			}
			if over, err := r.event(e); over {
				return err
			}
		}
	}
}

// isGone says whether the session was closed, as the event of a number says, while the prompt waited for its turn: no end of
// the run will come then, though the session may be open again.
func (r *round) isGone(closed uint64) bool {
	_, waits := r.host.options.Sessions.At(r.run) // a session at rest keeps it
	return closed > r.from && !waits
}

// event takes an event of the session; over if it is the end of the run, and then why that was none that was wanted.
func (r *round) event(e journal.Entry[copilot.Event]) (over bool, err error) {
	mine := e.Value.Run == r.run
	switch b := e.Value.Body.(type) {
	case copilot.SessionClosed:
		return r.isGone(e.N), errClosed
	case copilot.QuestionAsked:
		switch {
		case b.Question.Kind == copilot.AskTool && isJobTool(b.Question.Tool):
			r.called(b.Question, mine)
		case r.host.options.Unattended:
			_ = r.seat.session().Answer(b.Question.ID, copilot.Answer{Reason: nobody}, Origin) // what was withdrawn needs no answer
		}
	case copilot.SessionFailed:
		if mine && b.Kind == copilot.Invalid {
			r.invalid = b.Text
		}
	case copilot.RunEnded:
		if mine {
			return true, r.ended(b)
		}
	}
	return false, nil
}

// nobody is why a question is declined, for the model.
const nobody = "There is nobody to ask."

func (r *round) ended(b copilot.RunEnded) error {
	switch {
	case r.refused != nil:
		return r.refused
	case b.Outcome == copilot.Completed:
		return nil
	case b.Outcome == copilot.Cancelled:
		return errStopped
	case b.Outcome == copilot.Interrupted:
		return &crash{errors.New("the session was put at rest in the middle of it")}
	case r.invalid != "":
		return copilot.Errorf(copilot.Invalid, "%s", r.invalid)
	}
	return &crash{errors.New(cmp.Or(b.Text, "the agent failed and gave no reason"))}
}

// called answers the call of a job tool at once.
func (r *round) called(q copilot.Question, mine bool) {
	session := r.seat.session()
	reply := copilot.Answer{Text: "Taken."}
	argument, wrong := argumentOf(q.Arguments)
	switch {
	case !mine:
		reply = copilot.Answer{Failed: true, Reason: "No task asks for that here; do without this tool."}
	case wrong != "":
		reply = copilot.Answer{Failed: true, Reason: wrong}
	default:
		r.take(q.Tool, argument)
	}
	_ = session.Answer(q.ID, reply, Origin) // what was withdrawn needs no answer
	if r.refused != nil {
		_ = session.Cancel(r.run) // nothing more is to be done
	}
}

func (r *round) take(tool, argument string) {
	r.answer.called[tool] = true
	switch tool {
	case book.PrepareDocument:
		r.values[book.ReportedDocument] = argument
	case book.BooleanTrue:
		r.values[book.ReportedTrueReason] = argument
		r.answer.last, r.answer.reason = tool, argument
	case book.BooleanFalse:
		r.values[book.ReportedFalseReason] = argument
		r.answer.last, r.answer.reason = tool, argument
	case book.PrerequisiteFailed:
		r.refused = &refusal{secret.Mask(argument)}
	}
}
