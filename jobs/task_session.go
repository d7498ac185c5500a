package jobs

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/jobs/book"
)

// crash is an error for which a retry makes sense.
type crash struct{ cause error }

func (c *crash) Error() string { return c.cause.Error() }
func (c *crash) Unwrap() error { return c.cause }

// faultOf converts errors to crashes, except those that a retry cannot fix.
func faultOf(err error) error {
	if fault.KindOf(err) == fault.Invalid {
		return err
	}
	return &crash{err}
}

// send sends a request to the session that is responsible for it.
func (w *worker) send(ctx context.Context, driving bool, model, why string, prompt func() string) (answer, error) {
	if err := w.ensureSession(ctx, driving, model); err != nil {
		return answer{}, err
	}
	a, err := w.request(ctx, retryReason(why)+prompt())
	var missing *refusal
	w.broken = err != nil && !errors.As(err, &missing)
	if w.isMultiple() {
		if stopped := w.releaseSession(!w.broken); len(stopped) > 0 {
			err = errors.Join(err, w.publish(stopped...))
		}
	}
	return a, err
}

// ensureSession makes sure that there is a session.
func (w *worker) ensureSession(ctx context.Context, driving bool, model string) error {
	if w.session != nil {
		return nil
	}
	if w.borrowed != nil {
		w.prepareBorrowed()
	} else if err := w.open(ctx, driving, model); err != nil {
		return err
	}
	return w.publish(TaskSessionStarted{Session: w.session.Session().ID(), Driving: driving || !w.isMultiple(), Checks: driving})
}

// prepareBorrowed prepares a borrowed session for the task.
func (w *worker) prepareBorrowed() {
	s := w.borrowed
	for _, t := range s.Tools() {
		if isJobTool(t.Alias()) {
			w.replacedTools = append(w.replacedTools, t)
		}
	}
	w.session = follow.Session(w.host.options.Sessions, s, s.Record().Last())
}

// open waits for a session slot and opens a session.
func (w *worker) open(ctx context.Context, driving bool, model string) error {
	select {
	case w.host.sessionSlots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		<-w.host.sessionSlots
		return context.Cause(ctx)
	}
	policy := maps.Clone(w.host.options.Policy)
	if policy == nil {
		policy = permission.Policy{}
	}
	maps.Copy(policy, jobToolsAllowed())
	s, err := w.host.options.Sessions.Start(ctx, copilot.Start{
		Origin: Origin, Model: model, Directory: w.directory, Policy: policy, Tools: jobTools(),
	})
	if err != nil {
		<-w.host.sessionSlots
		return faultOf(err)
	}
	w.host.busy.Store(s.ID(), true)
	title := w.title
	if driving {
		title += " · check"
	}
	_ = s.Rename(ctx, title) // otherwise lists show the beginning of the prompt
	if !driving {
		w.values[book.TaskModel] = s.Info().Model
	}
	w.session = follow.Session(w.host.options.Sessions, s, 0)
	return nil
}

// restoreTimeout is the time limit for restoring a borrowed session.
const restoreTimeout = 10 * time.Second

// releaseSession closes the session, or gives it back if it is borrowed. It returns the events to publish.
func (w *worker) releaseSession(succeeded bool) []Body {
	if w.session == nil {
		return nil
	}
	s, broken := w.session.Session(), w.broken
	w.session, w.broken = nil, false
	if w.borrowed != nil {
		ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
		defer cancel()
		_ = s.SetTools(ctx, append(withoutJobTools(s.Tools()), w.replacedTools...)) // fails if another process holds it
	} else {
		_ = s.Close() // a suspended session needs no closing
		w.host.busy.Delete(s.ID())
		<-w.host.sessionSlots
	}
	return []Body{TaskSessionStopped{Session: s.ID(), Succeeded: succeeded && !broken}}
}
