package jobs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/follow"
)

// TaskInfo is a snapshot of a task.
type TaskInfo struct {
	ID       string
	Name     string
	Job      string // id of its job; "" for a task on its own
	Work     int    // id of its work in the job
	Status   Status
	Started  time.Time
	Ended    time.Time     // zero if it has not ended
	Error    string        // why it failed, unless because of an answer; otherwise ""
	Reason   string        // latest decision, as reported by the agent
	Borrowed bool          // it works in an existing session
	Sessions []TaskSession // in order of their start
	Events   uint64        // number of the newest event
}

// TaskSession is a session in which a task works.
type TaskSession struct {
	ID      string // id of a [copilot.Session]
	Driving bool   // it decides whether the task is done
	Checks  bool   // it only checks the work of others
	Status  Status // Succeeded unless it failed technically, whatever it answered
}

// apply returns the snapshot after an event.
func (i TaskInfo) apply(e Event) TaskInfo {
	i.Sessions = slices.Clone(i.Sessions)
	i.Events = e.Number
	switch b := e.Body.(type) {
	case TaskSessionStarted:
		i.Sessions = append(i.Sessions, TaskSession{ID: b.Session, Driving: b.Driving, Checks: b.Checks, Status: Running})
	case TaskSessionStopped:
		i.applyStopped(b)
	case TaskDecision:
		i.Reason = b.Reason
	case TaskError:
		i.Error = b.Error
	case TaskSucceeded:
		i.Status, i.Ended = Succeeded, e.Time
	case TaskFailed:
		i.Status, i.Ended = Failed, e.Time
	}
	return i
}

func (i *TaskInfo) applyStopped(b TaskSessionStopped) {
	for at := range i.Sessions {
		if s := &i.Sessions[at]; s.ID == b.Session && s.Status == Running {
			s.Status = Failed
			if b.Succeeded {
				s.Status = Succeeded
			}
		}
	}
}

// worksIn reports whether the task works in a session.
func (i TaskInfo) worksIn(session string) bool {
	return slices.ContainsFunc(i.Sessions, func(s TaskSession) bool { return s.ID == session && s.Status == Running })
}

// Task is a task, for any number of clients. It is safe for concurrent use.
type Task struct{ record *taskRecord }

// beginTask stores a new task that this process runs.
func (h *Host) beginTask(i TaskInfo) (*Task, error) {
	i.ID, i.Status, i.Started = uuid.NewString(), Running, time.Now().UTC().Truncate(time.Millisecond)
	r, err := h.tasks.Begin(i)
	if err != nil {
		return nil, err
	}
	return &Task{r}, nil
}

// ID returns the task's UUID.
func (t *Task) ID() string { return t.record.ID() }

// Info returns a snapshot of the task. Readers share its sessions and must not modify them.
func (t *Task) Info() TaskInfo { return t.record.Head() }

// Reader returns a reader of the events with numbers above after.
func (t *Task) Reader(after uint64) *follow.Reader[Event] { return newReader(t.record, after) }

// Cancel ends the task and returns when it has ended or ctx is done. Errors: [ErrTaskClosed] if the task has
// already ended, [ErrTaskOfJob] if it belongs to a job, which must be cancelled instead, kind [fault.Busy] if
// another process runs it.
func (t *Task) Cancel(ctx context.Context) error {
	if i := t.Info(); !i.Status.Ended() && i.Job != "" {
		return ErrTaskOfJob
	}
	err := t.record.Cancel(ctx)
	if errors.Is(err, activity.ErrEnded) {
		return ErrTaskClosed
	}
	return err
}

// publish appends events to the task.
func (t *Task) publish(bodies ...Body) error { return t.record.Write(nil, events(bodies)...) }

// finish appends the last events and ends the task with the given status. Readers see them even if the store
// refuses them.
func (t *Task) finish(how Status, bodies ...Body) {
	_ = t.record.Write(func(i *TaskInfo) { i.Status = how }, events(bodies)...)
}
