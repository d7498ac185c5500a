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

// TaskInfo is a task as it was at a time.
type TaskInfo struct {
	ID       string
	Name     string
	Job      string // the id of its job; "" for a task by itself
	Work     int    // which work of the job it does
	Status   Status
	Started  time.Time
	Ended    time.Time     // zero until then
	Error    string        // why it failed, if that was no answer of the agent; "" otherwise
	Reason   string        // what was decided last, as the agent has reported it
	Borrowed bool          // it works in a session that was there already
	Sessions []TaskSession // in the order in which they came
	Events   uint64        // the number of the newest event
}

// TaskSession is a session that a task works in.
type TaskSession struct {
	ID      string // of a [copilot.Session]
	Driving bool   // it decides whether the task is done
	Checks  bool   // it only checks what others did
	Status  Status // Succeeded: it was not broken, whatever it answered
}

// apply takes an event into what is known of a task.
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

// Task is a prompt at work, for any number of clients. Its methods may be called concurrently.
type Task struct{ record *taskRecord }

// beginTask stores a new task, which this process does.
func (h *Host) beginTask(i TaskInfo) (*Task, error) {
	i.ID, i.Status, i.Started = uuid.NewString(), Running, time.Now().UTC().Truncate(time.Millisecond)
	r, err := h.tasks.Begin(i)
	if err != nil {
		return nil, err
	}
	return &Task{r}, nil
}

// ID is the task's UUID.
func (t *Task) ID() string { return t.record.ID() }

// Info is the task as it is now. Readers share its sessions and must not change them.
func (t *Task) Info() TaskInfo { return t.record.Head() }

// Reader returns a reader of the events with numbers above after.
func (t *Task) Reader(after uint64) *follow.Reader[Event] { return newReader(t.record, after) }

// Next reads events as [Job.Next] does.
func (t *Task) Next(ctx context.Context, after uint64, limit int) ([]Event, error) {
	return t.record.Next(ctx, after, limit)
}

// Cancel ends the task and returns when it has ended or ctx is done. Errors: [ErrTaskClosed] if it has ended already,
// [ErrTaskOfJob] if it belongs to a job, which is to be cancelled instead, kind [fault.Busy] if another process does it.
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

// publish adds events to the task.
func (t *Task) publish(bodies ...Body) error { return t.record.Write(nil, events(bodies)...) }

// finish adds the last events, which end the task with this status. Readers have them also if the store does not take them.
func (t *Task) finish(how Status, bodies ...Body) {
	_ = t.record.Write(func(i *TaskInfo) { i.Status = how }, events(bodies)...)
}
