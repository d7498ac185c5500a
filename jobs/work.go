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
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/jobs/book"
)

// worker runs a task. It is one goroutine.
type worker struct {
	host          *Host
	task          *Task
	book          *book.Book
	plan          book.Task
	model         string // model of task sessions
	directory     string
	title         string
	values        map[string]string // values of variables
	publish       func(...Body) error
	borrowed      *copilot.Session      // nil if the task has sessions of its own
	replacedTools []event.Tool          // tools of the borrowed session that job tools replace
	session       *follow.SessionReader // of the current session, or nil
	broken        bool                  // the latest request of the session failed technically
}

// values returns the variables at the start of a task.
func values(input, model string) map[string]string {
	v := map[string]string{book.TaskModel: model}
	if input != "" {
		v[book.UserInput] = input
	}
	return v
}

// run runs the task and ends it. It returns the status, and an error if the task failed for another reason
// than an answer. If last is not nil, it is called with the final events before they are published.
func (w *worker) run(ctx context.Context, last func([]Body, Status) error) (Status, error) {
	ok, err := w.do(ctx)
	bodies := w.releaseSession(err == nil)
	if w.borrowed != nil { // before the end is published: its reader may start the next task at once
		w.host.busy.Delete(w.borrowed.ID())
	}
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

// do runs the task. It returns false if the agent's answers made it fail.
func (w *worker) do(ctx context.Context) (bool, error) {
	ok, err := w.promptUntilDone(ctx)
	var missing *refusal
	if errors.As(err, &missing) {
		return false, w.publishDecision("A prerequisite is missing: %s", ended(missing.reason))
	}
	return ok, err
}

// promptUntilDone sends the prompt, with retries if necessary.
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
		if err := w.publishDecision("%s The prompt is sent again, retry %d of %d.", why, try, retries); err != nil {
			return false, err
		}
		prompt = func() string { return w.retryPrompt(missing) }
	}
}

// tryPrompt sends the prompt once and checks the criteria. why is "" if they are met; missing are the
// required tools that the agent did not call.
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

// retryPrompt returns the prompt for a retry.
func (w *worker) retryPrompt(missing []string) string {
	parts := []string{w.expand(w.plan.Prompt)}
	if len(missing) > 0 {
		parts = append(parts, fmt.Sprintf("You were asked this before and did not call %s. You must call it.", strings.Join(missing, " and ")))
	}
	if more := w.plan.Criteria.FailureAction.AdditionalPrompt; len(more) > 0 {
		parts = append(parts, w.expand(more))
	}
	return strings.Join(parts, "\n\n")
}

// prompt returns a function that expands a prompt once its session exists, because variables contain the
// session's model.
func (w *worker) prompt(lines []string) func() string {
	return func() string { return w.expand(lines) }
}

func (w *worker) expand(lines []string) string { return w.book.Expand(lines, w.values) }

// publishDecision publishes a decision and its reason.
func (w *worker) publishDecision(format string, args ...any) error {
	return w.publish(TaskDecision{secret.Mask(fmt.Sprintf(format, args...))})
}

// isMultiple reports whether each request has a session of its own.
func (w *worker) isMultiple() bool {
	return w.borrowed == nil && w.plan.Criteria != nil && !w.plan.Criteria.RunConditionInSameSession
}

// attempts returns the models to which a request is sent, one after another, while sessions fail technically.
func (w *worker) attempts(driving bool) (models []string) {
	if !driving {
		return slices.Repeat([]string{w.model}, maxAttempts)
	}
	for _, r := range w.book.Models.Retries {
		models = append(models, slices.Repeat([]string{r.ModelID}, 1+r.Retries)...)
	}
	return models
}

// The number of attempts on the task's model, and the maximum delay before the next attempt.
const (
	maxAttempts = 5
	maxBackoff  = 30 * time.Second
)

// sendRetrying sends a request, and sends it again if a session fails technically. Driving sessions exist
// only in multiple mode.
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
			return answer{}, fault.Errorf(fault.KindOf(err), "gave up after %d attempts: %w", len(models), err)
		}
		why, i = oneLine(err.Error()), next
		if err := w.publishDecision("A session failed: %s. The request is sent again, attempt %d of %d.", strings.TrimRight(why, "."), i+1, len(models)); err != nil {
			return answer{}, err
		}
		select {
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// nextModel returns the index of the model for the next attempt after an error, and whether there is one. If
// a model does not exist, the next one may.
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

// retryReason returns the first line of a request that is sent again.
func retryReason(why string) string {
	if why == "" {
		return ""
	}
	return "This request was sent before, but the session failed before it was done (" + why + "); check what is already done.\n"
}

func oneLine(s string) string { return plain.Line(s, 301) }
