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

// Origin names this room in the sessions that it starts and in its prompts.
const Origin = "job"

// Options of a [Host]. Zero fields take the defaults named.
type Options struct {
	Sessions  *copilot.Host     // required; to be closed after the jobs
	Book      *book.Book        // required
	Store     *store.Store      // has each event before readers see it; nil: jobs live as long as the host
	Policy    permission.Policy // the permissions of the agent in sessions of tasks; the job tools are always allowed
	Directory string            // of jobs that name none; an absolute path
	Retention time.Duration     // how long a job or task is known after its end; 7 days
	Parallel  int               // sessions of all jobs that are at work at the same time; 30
	Log       *slog.Logger      // nil: none

	// Unattended says that nobody can answer what the agent asks: it is declined, while it waits elsewhere.
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

// Host knows all jobs and tasks. Its methods may be called concurrently. Close ends it.
type Host struct {
	options      Options
	jobs         *jobLog
	tasks        *taskLog
	sessionSlots chan struct{} // a token for each session of a job that is open

	mu      sync.Mutex
	busy    map[string]bool // sessions that a task works in
	claims  map[string]bool // jobs that are just being continued
	changes uint64
	changed chan struct{} // closed with the next change
}

// New makes a host without jobs; nothing is started but its clock.
func New(o Options) *Host {
	o = o.withDefaults()
	h := &Host{
		options: o, sessionSlots: make(chan struct{}, o.Parallel), changes: 1, changed: make(chan struct{}),
		busy: map[string]bool{}, claims: map[string]bool{},
	}
	log := activity.Options{Store: o.Store, Retention: o.Retention, Log: o.Log}
	h.jobs, h.tasks = activity.New(h.jobKind(), log), activity.New(h.taskKind(), log)
	return h
}

// Book is the book that jobs and tasks are started from.
func (h *Host) Book() *book.Book { return h.options.Book }

// Job finds a job, also one that another process does or that was done in an earlier life. Error: [ErrJobNotFound].
func (h *Host) Job(ctx context.Context, id string) (*Job, error) {
	r, err := h.jobs.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Job{r}, nil
}

// Task finds a task, those of jobs included. Error: [ErrTaskNotFound].
func (h *Host) Task(ctx context.Context, id string) (*Task, error) {
	r, err := h.tasks.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Task{r}, nil
}

// mostListed is how many jobs are listed at most.
const mostListed = 1000

// Jobs lists jobs, the newest first, at most limit (0: 1000, which is the most).
func (h *Host) Jobs(ctx context.Context, limit int) ([]JobInfo, error) {
	if limit <= 0 || limit > mostListed {
		limit = mostListed
	}
	return h.jobs.Heads(ctx, limit)
}

// ListedAfterEnd is how long a job that has ended is listed among those at work.
const ListedAfterEnd = time.Hour

// Running lists the jobs that are at work or have ended within [ListedAfterEnd], as their status says, the oldest first.
func (h *Host) Running(ctx context.Context) ([]JobInfo, error) {
	list, err := h.Jobs(ctx, 0)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(i JobInfo) bool { return i.Status.Ended() && time.Since(i.Ended) >= ListedAfterEnd })
	slices.Reverse(list)
	return list, nil
}

// Changed waits until jobs of this process began or ended since a number that an earlier call gave (0: returns at once),
// and gives the next one. What other processes do shows by asking again now and then.
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

// notifyChange wakes those who wait for a change.
func (h *Host) notifyChange() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes++
	close(h.changed)
	h.changed = make(chan struct{})
}

// Recover ends, as Interrupted, what processes have left that are gone. Call it now and then.
func (h *Host) Recover(ctx context.Context) error {
	return errors.Join(h.tasks.Recover(ctx), h.jobs.Recover(ctx))
}

// DeleteExpiredSessions deletes the sessions of tasks in which nothing happened for longer than the retention, also from what the agent
// has saved. Borrowed sessions are others'. It returns how many. Call it now and then; a process of the agent may be started.
func (h *Host) DeleteExpiredSessions(ctx context.Context) (int, error) {
	return h.options.Sessions.DeleteExpired(ctx, h.options.Retention, 0, Origin)
}

// Close ends what runs, as Interrupted, and waits for it; ctx bounds how long that may take gently. Nothing can be started
// any more.
func (h *Host) Close(ctx context.Context) {
	h.tasks.Stop()
	h.jobs.Close(ctx)
	h.tasks.Close(ctx)
}
