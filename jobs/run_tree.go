package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/jobs/book"
)

// walker runs the works of a job.
type walker struct {
	host    *Host
	job     *Job
	book    *book.Book
	info    JobInfo                 // at the start of the job
	earlier map[int]*earlierResults // outcomes of an earlier job, by Ref

	mu       sync.Mutex
	deferred []Body // events that the store refused; published with the end
}

// result is the result of a work. A condition holds if ok is true.
type result struct {
	ok    bool
	fresh bool  // some of it ran now, not in the earlier job
	err   error // why it failed, unless because of an answer
}

// run runs the job and ends it.
func (w *walker) run(ctx context.Context, root *book.Work) {
	r := w.runWork(ctx, root, false)
	bodies := []Body{JobFailed{}}
	switch {
	case r.ok:
		bodies = []Body{JobSucceeded{}}
	case errors.Is(context.Cause(ctx), activity.ErrCanceled):
		bodies = []Body{JobCanceled{}}
	case errors.Is(context.Cause(ctx), activity.ErrStopping):
		bodies = []Body{JobError{portalStopped}, JobInterrupted{}}
	case ctx.Err() != nil:
		bodies = []Body{JobError{secret.Mask(context.Cause(ctx).Error())}, JobFailed{}}
	case r.err != nil:
		bodies = []Body{JobError{secret.Mask(r.err.Error())}, JobFailed{}}
	}
	_ = w.job.record.Write(nil, events(append(w.deferred, bodies...))...) // readers see the end in any case
	w.job.record.Release()
	w.host.notifyChange()
}

const portalStopped = "The portal was stopped before the work ended."

// publish publishes events of the job. A job whose events cannot be stored must end.
func (w *walker) publish(bodies ...Body) error {
	err := w.job.record.Write(nil, events(bodies)...)
	if err != nil {
		w.deferEvents(bodies...)
		w.job.record.Stop(err)
	}
	return err
}

// deferEvents keeps events for the end of the job, which is always published, so that everything that started
// also ends.
func (w *walker) deferEvents(bodies ...Body) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deferred = append(w.deferred, bodies...)
}

// runWork runs a work. A condition that an earlier job answered with no does not run again.
func (w *walker) runWork(ctx context.Context, work *book.Work, condition bool) result {
	if ctx.Err() != nil {
		return result{err: context.Cause(ctx)}
	}
	switch work.Kind {
	case book.Seq:
		return w.sequence(ctx, work, condition)
	case book.Par:
		return w.parallel(ctx, work, condition)
	case book.Loop:
		return w.loop(ctx, work, condition)
	case book.Alt:
		return w.alternative(ctx, work, condition)
	case book.Ref:
	}
	return w.runTask(ctx, work, condition)
}

func (w *walker) sequence(ctx context.Context, work *book.Work, condition bool) (all result) {
	for _, part := range work.Works {
		r := w.runWork(ctx, part, condition)
		all.fresh = all.fresh || r.fresh
		if !r.ok {
			all.err = r.err
			return all
		}
	}
	all.ok = true
	return all
}

func (w *walker) parallel(ctx context.Context, work *book.Work, condition bool) result {
	results := make([]result, len(work.Works))
	var parts sync.WaitGroup
	for i, part := range work.Works {
		parts.Go(func() { results[i] = w.runWork(ctx, part, condition) })
	}
	parts.Wait()
	all := result{ok: true}
	for _, r := range results {
		all.ok = all.ok && r.ok
		all.fresh = all.fresh || r.fresh
		if all.err == nil {
			all.err = r.err
		}
	}
	return all
}

func (w *walker) alternative(ctx context.Context, work *book.Work, condition bool) result {
	c := w.runWork(ctx, work.Condition, true)
	if c.err != nil {
		return c
	}
	branch := work.False
	if c.ok {
		branch = work.True
	}
	if branch == nil {
		return result{ok: true, fresh: c.fresh}
	}
	r := w.runWork(ctx, branch, condition)
	r.fresh = r.fresh || c.fresh
	return r
}

// loop runs a loop. A loop that reached its limit in an earlier job gets the same number of rounds again.
func (w *walker) loop(ctx context.Context, work *book.Work, condition bool) (all result) {
	limit := work.MaxIterations
	for round := 1; ; round++ {
		more, err := w.checkLoop(ctx, work.Pre, work.PreWanted, &all)
		switch {
		case err != nil:
			return result{fresh: all.fresh, err: err}
		case !more, round > limit && work.Pre == nil && work.Post == nil:
			return result{ok: true, fresh: all.fresh}
		case round > limit && all.fresh:
			return result{fresh: true, err: fault.Errorf(fault.Internal,
				"the loop (work %d) did not end within %d rounds, its maximum", work.ID, limit)}
		case round > limit:
			limit += work.MaxIterations
		}
		if r, more := w.round(ctx, work, condition, &all); !more {
			return r
		}
	}
}

// round runs the body of a loop and its condition. It reports whether the loop continues; if not, the result
// is that of the loop.
func (w *walker) round(ctx context.Context, work *book.Work, condition bool, all *result) (result, bool) {
	body := w.runWork(ctx, work.Body, condition)
	all.fresh = all.fresh || body.fresh
	if !body.ok {
		return result{fresh: all.fresh, err: body.err}, false
	}
	more, err := w.checkLoop(ctx, work.Post, work.PostWanted, all)
	return result{ok: err == nil, fresh: all.fresh, err: err}, more && err == nil
}

// checkLoop runs a condition of a loop and reports whether the loop continues.
func (w *walker) checkLoop(ctx context.Context, condition *book.Work, answer bool, all *result) (bool, error) {
	if condition == nil {
		return true, nil
	}
	c := w.runWork(ctx, condition, true)
	all.fresh = all.fresh || c.fresh
	return c.ok == answer, c.err
}

// runTask runs a task and waits for its end.
func (w *walker) runTask(ctx context.Context, work *book.Work, condition bool) result {
	if o, ok := w.earlier[work.ID].next(condition); ok {
		err := w.publish(WorkStarted{work.ID, o.task}, WorkStopped{Work: work.ID, Succeeded: o.status == Succeeded, Status: o.status})
		return result{ok: err == nil && o.status == Succeeded, err: err}
	}
	t, err := w.host.beginTask(TaskInfo{Name: work.Task, Job: w.job.ID(), Work: work.ID})
	if err != nil {
		return result{fresh: true, err: w.failed(work, err)}
	}
	w.host.tasks.Add(t.record)
	defer t.record.Release()
	r := result{fresh: true}
	if r.err = w.publish(WorkStarted{work.ID, t.ID()}); r.err != nil {
		t.finish(Failed, TaskDecision{"The task has failed: " + ended(r.err.Error())}, TaskError{r.err.Error()}, TaskFailed{})
		w.deferEvents(WorkStopped{Work: work.ID, Status: Failed})
		return r
	}
	k := w.worker(work, t)
	status, err := k.run(ctx, func(last []Body, how Status) error {
		bodies := append(taskEventsOfJob(work.ID, t.ID(), last), WorkStopped{Work: work.ID, Succeeded: how == Succeeded, Status: how})
		return w.publish(bodies...)
	})
	if err != nil {
		err = w.failed(work, err)
	}
	return result{ok: status == Succeeded && err == nil, fresh: true, err: err}
}

func (w *walker) failed(work *book.Work, err error) error {
	return fmt.Errorf("%s (work %d): %w", work.Task, work.ID, err)
}

// taskEventsOfJob wraps events of a task for the record of its job.
func taskEventsOfJob(work int, task string, bodies []Body) []Body {
	list := make([]Body, len(bodies))
	for i, b := range bodies {
		list[i] = WorkEvent{work, task, b}
	}
	return list
}

// worker creates the worker of a task of the job.
func (w *walker) worker(work *book.Work, t *Task) *worker {
	plan := w.book.Tasks[work.Task]
	model := w.book.Model(plan.Model, work.ModelOverride)
	return &worker{
		host: w.host, task: t, book: w.book, plan: plan, model: model, directory: w.info.Directory,
		title: w.info.Name + " · " + work.Task, values: values(w.info.Input, model),
		publish: func(bodies ...Body) error {
			if err := t.publish(bodies...); err != nil {
				w.deferEvents(taskEventsOfJob(work.ID, t.ID(), bodies)...)
				return err
			}
			return w.publish(taskEventsOfJob(work.ID, t.ID(), bodies)...)
		},
	}
}
