package jobs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/jobs/book"
)

// Origin names this room in the sessions that it starts and in its prompts.
const Origin = "job"

// Options of a [Host]. Zero fields take the defaults named.
type Options struct {
	Sessions  *copilot.Host  // required; to be closed after the jobs
	Book      *book.Book     // required
	Store     *store.Store   // has each event before readers see it; nil: jobs live as long as the host
	Policy    copilot.Policy // the permissions of the agent in sessions of tasks; the job tools are always allowed
	Directory string         // of jobs that name none; an absolute path
	Retention time.Duration  // how long a job or task is known after its end; 7 days
	Parallel  int            // sessions of all jobs that are at work at the same time; 30
	Log       *slog.Logger   // nil: none

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
	options Options
	tidying sync.WaitGroup // the goroutine that forgets what is old
	quit    context.CancelFunc
	work    sync.WaitGroup // jobs, and tasks by themselves
	places  chan struct{}  // a token for each session of a job that is open

	mu      sync.Mutex
	jobs    map[string]*Job // that this process does, and those that the store does not have
	tasks   map[string]*Task
	left    map[string]store.Activity // taken from portals that are gone, and not ended yet
	busy    map[string]bool           // sessions that a task works in
	claims  map[string]bool           // jobs that are just being continued
	closed  bool
	changes uint64
	changed chan struct{} // closed with the next change
}

// New makes a host without jobs; nothing is started but its clock.
func New(o Options) *Host {
	ctx, quit := context.WithCancel(context.Background())
	o = o.withDefaults()
	h := &Host{
		options: o, quit: quit, places: make(chan struct{}, o.Parallel), changes: 1, changed: make(chan struct{}),
		jobs: map[string]*Job{}, tasks: map[string]*Task{}, left: map[string]store.Activity{}, busy: map[string]bool{}, claims: map[string]bool{},
	}
	h.tidying.Go(func() { h.tidy(ctx) })
	return h
}

// Book is the book that jobs and tasks are started from.
func (h *Host) Book() *book.Book { return h.options.Book }

// Job finds a job, also one that another process does or that was done in an earlier life. Error: [ErrJobNotFound].
func (h *Host) Job(ctx context.Context, id string) (*Job, error) {
	h.mu.Lock()
	j := h.jobs[id]
	h.mu.Unlock()
	switch {
	case j != nil && h.isOver(j.record.snapshot()):
		return nil, ErrJobNotFound
	case j != nil:
		return j, nil
	}
	r, err := h.storedRecord(ctx, kindJob, id, ErrJobNotFound)
	if err != nil {
		return nil, err
	}
	return &Job{record: r}, nil
}

// Task finds a task, those of jobs included. Error: [ErrTaskNotFound].
func (h *Host) Task(ctx context.Context, id string) (*Task, error) {
	h.mu.Lock()
	t := h.tasks[id]
	h.mu.Unlock()
	switch {
	case t != nil && h.isOver(t.record.snapshot()):
		return nil, ErrTaskNotFound
	case t != nil:
		return t, nil
	}
	r, err := h.storedRecord(ctx, kindTask, id, ErrTaskNotFound)
	if err != nil {
		return nil, err
	}
	return &Task{record: r}, nil
}

// isOver says whether something has been kept long enough.
func (h *Host) isOver(f facts) bool {
	return f.status().Ended() && time.Since(f.ended()) >= h.options.Retention
}

// mostListed is how many jobs are listed at most.
const mostListed = 1000

// Jobs lists jobs, the newest first, at most limit (0: 1000, which is the most).
func (h *Host) Jobs(ctx context.Context, limit int) ([]JobInfo, error) {
	if limit <= 0 || limit > mostListed {
		limit = mostListed
	}
	byID := map[string]JobInfo{}
	for _, j := range h.here() { // before the store: what leaves memory is there
		byID[j.ID()] = j.Info()
	}
	if err := h.addStored(ctx, limit, byID); err != nil {
		return nil, err
	}
	list := slices.Collect(maps.Values(byID))
	list = slices.DeleteFunc(list, func(i JobInfo) bool { return h.isOver(&i) })
	slices.SortFunc(list, func(a, b JobInfo) int { return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID)) })
	return list[:min(limit, len(list))], nil
}

// addStored adds the jobs that are in the store alone.
func (h *Host) addStored(ctx context.Context, limit int, byID map[string]JobInfo) error {
	if h.options.Store == nil {
		return nil
	}
	all, err := h.options.Store.Activities(ctx, string(kindJob), limit)
	if err != nil {
		return unreadable(kindJob, err)
	}
	for _, a := range all {
		if _, here := byID[a.ID]; here {
			continue
		}
		if info, err := h.factsOf(ctx, kindJob, a); err == nil {
			if i, ok := info.(*JobInfo); ok {
				byID[a.ID] = *i
			}
		}
	}
	return nil
}

// Lately is how long a job that has ended is listed among those at work.
const Lately = time.Hour

// Running lists the jobs that are at work or have ended within [Lately], as their status says, the oldest first.
func (h *Host) Running(ctx context.Context) ([]JobInfo, error) {
	list, err := h.Jobs(ctx, 0)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(i JobInfo) bool { return i.Status.Ended() && time.Since(i.Ended) >= Lately })
	slices.Reverse(list)
	return list, nil
}

// here are the jobs that are in memory.
func (h *Host) here() []*Job {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.jobs))
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

// change wakes those who wait for a change. Called with the lock held.
func (h *Host) change() {
	h.changes++
	close(h.changed)
	h.changed = make(chan struct{})
}

// tidy forgets what was kept long enough, and ends what processes have left that are gone, until ctx ends.
func (h *Host) tidy(ctx context.Context) {
	every := time.NewTicker(max(time.Second, min(time.Minute, h.options.Retention/4)))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if err := h.clear(ctx); err != nil && ctx.Err() == nil {
			h.options.Log.Warn("the stored jobs cannot be tidied up", "error", err)
		}
	}
}

func (h *Host) clear(ctx context.Context) error {
	var all error
	for _, r := range h.records() {
		settled, err := r.settle(ctx)
		all = errors.Join(all, err)
		if settled || h.isOver(r.snapshot()) {
			h.forget(r)
		}
	}
	if h.options.Store == nil {
		return all
	}
	for _, k := range []kind{kindTask, kindJob} {
		_, err := h.options.Store.DropDone(ctx, string(k), time.Now().Add(-h.options.Retention))
		all = errors.Join(all, err)
	}
	return errors.Join(all, h.Recover(ctx))
}

// Retain deletes the sessions of tasks in which nothing happened for longer than the retention, also from what the agent
// has saved. Borrowed sessions are others'. It returns how many. Call it now and then; a process of the agent may be started.
func (h *Host) Retain(ctx context.Context) (int, error) {
	return h.options.Sessions.Retain(ctx, h.options.Retention, 0, Origin)
}

// records are those in memory.
func (h *Host) records() (list []*record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range h.jobs {
		list = append(list, j.record)
	}
	for _, t := range h.tasks {
		list = append(list, t.record)
	}
	return list
}

// forget drops a record from memory.
func (h *Host) forget(r *record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.kind == kindJob {
		delete(h.jobs, r.id)
		return
	}
	delete(h.tasks, r.id)
}

// leave drops what has ended from memory, if the store has it.
func (h *Host) leave(r *record) {
	r.mu.Lock()
	kept := h.options.Store != nil && !r.owed
	r.mu.Unlock()
	if kept {
		h.forget(r)
	}
}

// Close ends what runs, as Interrupted, and waits for it; ctx bounds how long that may take gently. Nothing can be started
// any more.
func (h *Host) Close(ctx context.Context) {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for _, r := range h.records() {
		r.stop(errStopping)
	}
	h.quit()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.work.Wait()
		h.tidying.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
