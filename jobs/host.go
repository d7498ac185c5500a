package jobs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/jobs/book"
)

// Origin is the origin of the sessions and prompts of this package.
const Origin = "job"

// Options are the settings of a [Host]. Zero fields have the defaults named.
type Options struct {
	Sessions  *copilot.Host     // required; close it after the Host
	Book      *book.Book        // required
	Store     *store.Store      // stores each event before readers see it; nil keeps jobs in memory only
	Policy    permission.Policy // of sessions of tasks; job tools are always allowed
	Directory string            // of jobs that name none; an absolute path
	Retention time.Duration     // how long a job or task is kept after its end; default 7 days
	Parallel  int               // maximum number of working sessions of all jobs; default 30
	Log       *slog.Logger      // nil disables logging

	// Unattended declines questions of the agent, because no one can answer them.
	Unattended bool
}

func (o Options) withDefaults() Options {
	if o.Retention <= 0 {
		o.Retention = 7 * 24 * time.Hour
	}
	if o.Parallel <= 0 {
		o.Parallel = 30
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Host gives access to all jobs and tasks. It is safe for concurrent use. The caller must close it.
type Host struct {
	options      Options
	jobs         *jobLog
	tasks        *taskLog
	sessionSlots chan struct{} // one token for each open session of a job

	busy sync.Map // ids of sessions in which a task works

	mu      sync.Mutex
	changes uint64
	changed chan struct{} // closed at the next change
}

// New creates a host. It starts no job and no agent.
func New(o Options) *Host {
	o = o.withDefaults()
	h := &Host{
		options: o, sessionSlots: make(chan struct{}, o.Parallel), changes: 1, changed: make(chan struct{}),
	}
	log := activity.Options{Store: o.Store, Processes: o.Sessions.Processes(), Retention: o.Retention, Log: o.Log}
	h.jobs, h.tasks = activity.New(h.jobKind(), log), activity.New(h.taskKind(), log)
	return h
}

// Book returns the book that jobs and tasks are started from.
func (h *Host) Book() *book.Book { return h.options.Book }

// Job returns a job of any process, running or ended. Error: [ErrJobNotFound].
func (h *Host) Job(ctx context.Context, id string) (*Job, error) {
	r, err := h.jobs.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Job{r}, nil
}

// Task returns a task, on its own or of a job. Error: [ErrTaskNotFound].
func (h *Host) Task(ctx context.Context, id string) (*Task, error) {
	r, err := h.tasks.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Task{r}, nil
}

// maxListed is the maximum number of listed jobs.
const maxListed = 1000

// Jobs lists at most limit jobs, newest first. 0 means 1000, the maximum.
func (h *Host) Jobs(ctx context.Context, limit int) ([]JobInfo, error) {
	if limit <= 0 || limit > maxListed {
		limit = maxListed
	}
	return h.jobs.Heads(ctx, limit)
}

// ListedAfterEnd is how long Running lists a job after its end.
const ListedAfterEnd = time.Hour

// Running lists the jobs that are running or ended within [ListedAfterEnd], oldest first.
func (h *Host) Running(ctx context.Context) ([]JobInfo, error) {
	list, err := h.Jobs(ctx, 0)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(i JobInfo) bool { return i.Status.Ended() && time.Since(i.Ended) >= ListedAfterEnd })
	slices.Reverse(list)
	return list, nil
}

// Changed waits until a job of this process has started or ended since seen, a number returned by an earlier
// call, and returns the current number. 0 returns at once. It does not notice changes by other processes;
// call Running from time to time for those.
func (h *Host) Changed(ctx context.Context, seen uint64) (uint64, error) {
	for {
		h.mu.Lock()
		changes, changed := h.changes, h.changed
		h.mu.Unlock()
		if changes != seen {
			return changes, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return seen, ctx.Err()
		}
	}
}

// notifyChange wakes callers of Changed.
func (h *Host) notifyChange() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes++
	close(h.changed)
	h.changed = make(chan struct{})
}

// Recover finalizes, as Interrupted, jobs and tasks of processes that are gone. Call it regularly.
func (h *Host) Recover(ctx context.Context) error {
	return errors.Join(h.tasks.Recover(ctx), h.jobs.Recover(ctx))
}

// RecoverOnce is Recover for a process that does not call it regularly: it waits until it is known which processes are gone, up to 10 s.
func (h *Host) RecoverOnce(ctx context.Context) error {
	var err error
	if s := h.options.Store; s != nil {
		err = errors.Join(s.AwaitOwners(ctx, taskName), s.AwaitOwners(ctx, jobName))
	}
	return errors.Join(err, h.Recover(ctx))
}

// DeleteExpiredSessions deletes the sessions of tasks that have not changed for longer than the retention,
// including the agent's copy. It leaves borrowed sessions alone. It returns the number of deleted sessions.
// It may start an agent process. Call it regularly.
func (h *Host) DeleteExpiredSessions(ctx context.Context) (int, error) {
	return h.options.Sessions.DeleteExpired(ctx, h.options.Retention, 0, Origin)
}

// Close ends running jobs and tasks, as Interrupted, and waits for them. They may end gracefully until ctx is
// done. Afterwards, nothing can be started.
func (h *Host) Close(ctx context.Context) {
	h.tasks.Stop()
	h.jobs.Close(ctx)
	h.tasks.Close(ctx)
}
