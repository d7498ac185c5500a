package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/jobs/book"
)

// worker does a task. It is one goroutine.
type worker struct {
	host          *Host
	task          *Task
	book          *book.Book
	plan          book.Task
	model         string // of task sessions
	directory     string
	title         string
	values        map[string]string // of variables
	publish       func(...Body) error
	borrowed      *copilot.Session // nil: sessions of its own
	replacedTools []event.Tool     // of the borrowed session: they have names of job tools
	session       *taskSession     // the session that it works in now; nil between sessions
}

// values are those of the variables when a task begins.
func values(input, model string) map[string]string {
	v := map[string]string{book.TaskModel: model}
	if input != "" {
		v[book.UserInput] = input
	}
	return v
}

// run does the task and ends it. It gives the status, and the error if it was no answer that made it fail. last, if not
// nil, is told the last events, too.
func (w *worker) run(ctx context.Context, last func([]Body, Status) error) (Status, error) {
	ok, err := w.do(ctx)
	bodies := w.releaseSession(err == nil)
	how := Failed
	switch {
	case err == nil && ok:
		how, bodies = Succeeded, append(bodies, TaskSucceeded{})
	case err == nil:
		bodies = append(bodies, TaskFailed{})
	case errors.Is(err, activity.ErrCanceled):
		how, bodies = Canceled, append(bodies, TaskDecision{"The task was canceled."}, TaskFailed{})
	case errors.Is(err, activity.ErrStopping):
		how, bodies = Interrupted, append(bodies, TaskDecision{portalStopped}, TaskError{portalStopped}, TaskFailed{})
	default:
		why := secret.Mask(err.Error())
		bodies = append(bodies, TaskDecision{"The task has failed: " + ended(why)}, TaskError{why}, TaskFailed{})
	}
	w.task.finish(how, bodies...)
	if last == nil {
		return how, err
	}
	return how, cmp.Or(err, last(bodies, how))
}

// do does the task; false if the agent has answered so that it failed.
func (w *worker) do(ctx context.Context) (bool, error) {
	ok, err := w.promptUntilDone(ctx)
	var missing *refusal
	if errors.As(err, &missing) {
		return false, w.publishDecision("A prerequisite is missing: %s", ended(missing.reason))
	}
	return ok, err
}

// promptUntilDone gives the prompt, again and again if need be.
func (w *worker) promptUntilDone(ctx context.Context) (bool, error) {
	if a := w.plan.Availability; a != nil {
		r, err := w.sendRetrying(ctx, true, w.prompt(a.Condition))
		if err != nil {
			return false, err
		}
		if r.last != book.BooleanTrue {
			return false, w.publishDecision("The task is not available: %s", r.refusal())
		}
	}
	prompt := w.prompt(w.plan.Prompt)
	for try := 1; ; try++ {
		why, missing, err := w.tryPrompt(ctx, prompt)
		if err != nil || why == "" {
			return err == nil, err
		}
		retries := w.plan.Criteria.FailureAction.RetryTimes
		if try > retries {
			return false, w.publishDecision("%s", why)
		}
		if err := w.publishDecision("%s The prompt is given again, retry %d of %d.", why, try, retries); err != nil {
			return false, err
		}
		prompt = func() string { return w.retryPrompt(missing) }
	}
}

// tryPrompt gives the prompt once and looks whether it was fulfilled: why not, "" if it was, and which tools the agent has
// missed.
func (w *worker) tryPrompt(ctx context.Context, prompt func() string) (why string, missing []string, err error) {
	r, err := w.sendRetrying(ctx, false, prompt)
	c := w.plan.Criteria
	switch {
	case err != nil:
		return "", nil, err
	case c == nil:
		return "", nil, w.publishDecision("The agent has answered the prompt.")
	}
	if missing = r.missing(c.ToolExecuted); len(missing) > 0 {
		return fmt.Sprintf("The agent did not call %s.", strings.Join(missing, ", ")), missing, nil
	}
	if c.Condition == nil {
		return "", nil, w.publishDecision("The agent has called %s.", strings.Join(c.ToolExecuted, ", "))
	}
	r, err = w.sendRetrying(ctx, true, w.prompt(c.Condition))
	switch {
	case err != nil:
		return "", nil, err
	case r.last == book.BooleanTrue:
		return "", nil, w.publishDecision("The condition holds: %s", ended(r.reason))
	}
	return "The condition does not hold: " + r.refusal(), nil, nil
}

// retryPrompt is the prompt for a retry.
func (w *worker) retryPrompt(missing []string) string {
	parts := []string{w.expand(w.plan.Prompt)}
	if len(missing) > 0 {
		parts = append(parts, fmt.Sprintf("You were asked this before, and did not call %s. You must call it.", strings.Join(missing, " and ")))
	}
	if more := w.plan.Criteria.FailureAction.AdditionalPrompt; len(more) > 0 {
		parts = append(parts, w.expand(more))
	}
	return strings.Join(parts, "\n\n")
}

// prompt gives a prompt when there is a session for it: its variables name the model of that.
func (w *worker) prompt(lines []string) func() string {
	return func() string { return w.expand(lines) }
}

func (w *worker) expand(lines []string) string { return w.book.Expand(lines, w.values) }

// publishDecision tells what was found and what follows.
func (w *worker) publishDecision(format string, args ...any) error {
	return w.publish(TaskDecision{secret.Mask(fmt.Sprintf(format, args...))})
}

// isMultiple says whether each request has a session of its own.
func (w *worker) isMultiple() bool {
	return w.borrowed == nil && w.plan.Criteria != nil && !w.plan.Criteria.RunConditionInSameSession
}

// attempts are the models that a request is sent to, one after another, while sessions break down.
func (w *worker) attempts(driving bool) (models []string) {
	if !driving {
		return slices.Repeat([]string{w.model}, mostAttempts)
	}
	for _, r := range w.book.Models.Retries {
		models = append(models, slices.Repeat([]string{r.ModelID}, 1+r.Retries)...)
	}
	return models
}

// How often a request is sent on the task's model, and how long it takes at most until it is sent again.
const (
	mostAttempts = 5
	mostBackoff  = 30 * time.Second
)

// sendRetrying sends a request, and again if a session breaks down. Only in multiple mode there are driving sessions.
func (w *worker) sendRetrying(ctx context.Context, driving bool, prompt func() string) (answer, error) {
	driving = driving && w.isMultiple()
	models, why, backoff := w.attempts(driving), "", time.Second
	for i := 0; ; {
		a, err := w.send(ctx, driving, models[i], why, prompt)
		next, again := nextModel(models, i, err)
		switch {
		case ctx.Err() != nil:
			return answer{}, context.Cause(ctx)
		case !again:
			return a, err
		case next == len(models):
			return answer{}, fault.Errorf(fault.KindOf(err), "it was given up after %d attempts: %w", len(models), err)
		}
		why, i = oneLine(err.Error()), next
		if err := w.publishDecision("A session broke down: %s. The request is sent again, attempt %d of %d.", strings.TrimRight(why, "."), i+1, len(models)); err != nil {
			return answer{}, err
		}
		select {
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, mostBackoff)
	}
}

// nextModel tells with which of the models it goes on after an error, and whether it does at all: a model that is not there
// may be followed by another one.
func nextModel(models []string, i int, err error) (next int, again bool) {
	var c *crash
	if errors.As(err, &c) {
		return i + 1, true
	}
	if errors.Is(err, fault.ErrModelNotFound) {
		for next = i + 1; next < len(models); next++ {
			if models[next] != models[i] {
				return next, true
			}
		}
	}
	return 0, false
}

// retryReason is the first line of a request that is sent again.
func retryReason(why string) string {
	if why == "" {
		return ""
	}
	return "This request was sent before, but the session broke down in the middle of it (" + why + "); look at what is done already.\n"
}

func oneLine(s string) string { return plain.Line(s, 301) }
