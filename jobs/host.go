package jobs

import (
	"context"
	"log/slog"
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
}

// Host knows all jobs and tasks. Its methods may be called concurrently. Close ends it.
type Host struct{}

// New makes a host without jobs; nothing is started but its clock.
func New(o Options) *Host { panic("engine") }

// Book is the book that jobs and tasks are started from.
func (h *Host) Book() *book.Book { panic("engine") }

// JobRequest describes a job to be started.
type JobRequest struct {
	Name      string
	Directory string // absolute; "": the host's
	Input     string // what the user says, $user-input; "" is no input
}

// StartJob begins a job, which goes on whether anybody watches it or not, and does not wait for the agent. Errors:
// [ErrNotInBook], [ErrNoInput], [copilot.ErrDirectoryNotAbsolute], [copilot.ErrDirectoryNotFound], kind
// [copilot.Unavailable] when the portal is stopping or its store takes nothing.
func (h *Host) StartJob(ctx context.Context, r JobRequest) (*Job, error) { panic("engine") }

// Continue starts a job that goes on where another one ended that did not succeed: with the first works that it had not
// done, in its directory, with its input and its book. Errors: [ErrJobNotFound], [ErrJobRuns], [ErrJobDone] if there is
// nothing left to do, those of StartJob.
func (h *Host) Continue(ctx context.Context, id string) (*Job, error) { panic("engine") }

// TaskRequest describes a task to be done in a session that is there already.
type TaskRequest struct {
	Name    string
	Session string // its id
	Input   string
}

// StartTask begins a task by itself in a borrowed session. Errors: [ErrNotInBook], [ErrNoInput], [copilot.ErrSessionNotFound],
// [copilot.ErrSessionClosed], and as StartJob.
func (h *Host) StartTask(ctx context.Context, r TaskRequest) (*Task, error) { panic("engine") }

// Job finds a job, also one that another process does or that was done in an earlier life. Error: [ErrJobNotFound].
func (h *Host) Job(ctx context.Context, id string) (*Job, error) { panic("engine") }

// Task finds a task, those of jobs included. Error: [ErrTaskNotFound].
func (h *Host) Task(ctx context.Context, id string) (*Task, error) { panic("engine") }

// Jobs lists jobs, the newest first, at most limit (0: 1000, which is the most).
func (h *Host) Jobs(ctx context.Context, limit int) ([]JobInfo, error) { panic("engine") }

// Running lists the jobs that are at work, the oldest first.
func (h *Host) Running(ctx context.Context) ([]JobInfo, error) { panic("engine") }

// Changed waits until jobs of this process began or ended since a number that an earlier call gave (0: returns at once),
// and gives the next one. What other processes do shows by asking again now and then.
func (h *Host) Changed(ctx context.Context, seen uint64) (uint64, error) { panic("engine") }

// Recover ends, as Interrupted, what processes have left that are gone. Call it now and then.
func (h *Host) Recover(ctx context.Context) error { panic("engine") }

// Close ends what runs, as Interrupted, and waits for it; ctx bounds how long that may take gently. Nothing can be started
// any more.
func (h *Host) Close(ctx context.Context) { panic("engine") }
