package jobs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/jobs/book"
)

// answer is what the agent reported with the job tools in one round.
type answer struct {
	called map[string]bool
	last   string // the latest of the two boolean tools, or ""
	reason string // its argument
}

// refusal returns why a condition does not hold.
func (a answer) refusal() string {
	if a.last == "" {
		return "the agent called neither " + book.BooleanTrue + " nor " + book.BooleanFalse + "."
	}
	return ended(a.reason)
}

// ended returns a text with a full stop.
func ended(s string) string {
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// missing returns the required tools that the agent did not call. A boolean tool does not count if the other
// one was called later, unless both are required.
func (a answer) missing(tools []string) (list []string) {
	both := slices.Contains(tools, book.BooleanTrue) && slices.Contains(tools, book.BooleanFalse)
	for _, t := range tools {
		retracted := (t == book.BooleanTrue || t == book.BooleanFalse) && a.last != t && !both
		if !a.called[t] || retracted {
			list = append(list, t)
		}
	}
	return list
}

// refusal is the error of a task that the agent ended with job_prerequisite_failed.
type refusal struct{ reason string }

func (r *refusal) Error() string { return "a prerequisite is missing: " + r.reason }

// round is a run that is being followed.
type round struct {
	*worker

	run     *follow.Run
	answer  answer
	refused *refusal
}

// request sends a prompt to the agent and follows the run until it ends.
func (w *worker) request(ctx context.Context, text string) (answer, error) {
	p := event.Prompt{Text: text, By: Origin}
	if w.borrowed != nil {
		tools := withJobTools(w.session.Session().Tools())
		p.Tools = &tools
	}
	run, err := w.session.Prompt(p)
	switch {
	case errors.Is(err, fault.ErrSessionClosed):
		return answer{}, errClosed
	case err != nil:
		return answer{}, faultOf(err)
	}
	run.Grace = w.grace
	r := &round{worker: w, run: run, answer: answer{called: map[string]bool{}}}
	err = r.follow(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return r.answer, err
}

// grace is how long a cancelled run may take to end. Sessions other than borrowed ones are closed instead.
func (w *worker) grace(cause error) time.Duration {
	if w.borrowed == nil || errors.Is(cause, activity.ErrStopping) {
		return 0
	}
	return 10 * time.Second
}

// Actions of users that the task does not undo.
var (
	errClosed  = fault.Errorf(fault.Invalid, "someone closed its session")
	errStopped = fault.Errorf(fault.Invalid, "someone cancelled its run in the session")
)

// follow reads to the end of the run.
func (r *round) follow(ctx context.Context) error {
	for b, err := range r.run.Events(ctx) {
		switch {
		case b.Gap != nil:
			return &crash{errors.New("the portal no longer keeps some of the agent's events")}
		case errors.Is(err, fault.ErrSessionClosed):
			return errClosed
		case err != nil:
			return &crash{err}
		}
		for _, e := range b.Entries {
			if _, ok := e.Value.Body.(event.SessionClosed); ok && r.run.IsGone(e.N) {
				return errClosed
			}
			r.event(e.Value)
		}
	}
	return r.outcome()
}

// event answers questions of the session during the run.
func (r *round) event(e event.Event) {
	b, ok := e.Body.(event.QuestionAsked)
	switch {
	case !ok:
	case b.Question.Kind == event.AskTool && isJobTool(b.Question.Tool):
		r.called(b.Question, e.Run == r.run.ID)
	case r.host.options.Unattended:
		_ = r.session.Session().Answer(b.Question.ID, event.Answer{Reason: nobodyAnswers}, Origin) // fails if the question was withdrawn
	}
}

// nobodyAnswers is the reason, for the model, of a declined question.
const nobodyAnswers = "There is nobody to ask."

// outcome returns an error unless the run completed.
func (r *round) outcome() error {
	switch {
	case r.refused != nil:
		return r.refused
	case r.run.Outcome == event.Completed:
		return nil
	case r.run.Outcome == event.Cancelled:
		return errStopped
	case r.run.Outcome == event.Interrupted:
		return &crash{errors.New("the session was suspended during the run")}
	case r.run.Invalid != "":
		return fault.Errorf(fault.Invalid, "%s", r.run.Invalid)
	}
	return &crash{errors.New(cmp.Or(r.run.Reason, "the agent failed and gave no reason"))}
}

// called answers a call of a job tool at once.
func (r *round) called(q event.Question, mine bool) {
	session := r.session.Session()
	reply := event.Answer{Text: "Taken."}
	argument, wrong := argumentOf(q.Arguments)
	switch {
	case !mine:
		reply = event.Answer{Failed: true, Reason: "No task needs this tool now; continue without it."}
	case wrong != "":
		reply = event.Answer{Failed: true, Reason: wrong}
	default:
		r.recordCall(q.Tool, argument)
	}
	_ = session.Answer(q.ID, reply, Origin) // fails if the question was withdrawn
	if r.refused != nil {
		r.run.Cancel() // nothing is left to do
	}
}

func (r *round) recordCall(tool, argument string) {
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
