package jobs

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
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

func (i *TaskInfo) copied() facts {
	c := *i
	c.Sessions = slices.Clone(i.Sessions)
	return &c
}

func (i *TaskInfo) status() Status   { return i.Status }
func (i *TaskInfo) ended() time.Time { return i.Ended }
func (i *TaskInfo) events() uint64   { return i.Events }

func (i *TaskInfo) take(e Event) {
	i.Events = e.Number
	switch b := e.Body.(type) {
	case TaskSessionStarted:
		i.Sessions = append(i.Sessions, TaskSession{ID: b.Session, Driving: b.Driving, Checks: b.Checks, Status: Running})
	case TaskSessionStopped:
		i.stopped(b)
	case TaskDecision:
		i.Reason = b.Reason
	case TaskError:
		i.Error = b.Error
	case TaskSucceeded:
		i.end(Succeeded, e.Time)
	case TaskFailed:
		i.end(Failed, e.Time)
	}
}

func (i *TaskInfo) stopped(b TaskSessionStopped) {
	for at := range i.Sessions {
		if s := &i.Sessions[at]; s.ID == b.Session && s.Status == Running {
			s.Status = Failed
			if b.Succeeded {
				s.Status = Succeeded
			}
		}
	}
}

func (i *TaskInfo) end(how Status, at time.Time) { i.Status, i.Ended = how, at }

// Task is a prompt at work, for any number of clients. Its methods may be called concurrently.
type Task struct{ record *record }

// newTask is one that this process does.
func newTask(h *Host, info TaskInfo) *Task {
	info.ID, info.Status, info.Started = uuid.NewString(), Running, time.Now().UTC().Truncate(time.Millisecond)
	return &Task{newRecord(h, kindTask, info.ID, &info)}
}

// ID is the task's UUID.
func (t *Task) ID() string { return t.record.id }

// Info is the task as it is now.
func (t *Task) Info() TaskInfo {
	if i, ok := t.record.snapshot().(*TaskInfo); ok {
		return *i
	}
	return TaskInfo{}
}

// Next reads events as [Job.Next] does.
func (t *Task) Next(ctx context.Context, after uint64, limit int) ([]Event, error) {
	return t.record.read(ctx, after, limit)
}

// Cancel ends the task and returns when it has ended or ctx is done. Errors: [ErrTaskClosed] if it has ended already,
// [ErrTaskOfJob] if it belongs to a job, which is to be cancelled instead, kind [copilot.Busy] if another process does it.
func (t *Task) Cancel(ctx context.Context) error {
	switch i := t.Info(); {
	case i.Status.Ended():
		return ErrTaskClosed
	case i.Job != "":
		return ErrTaskOfJob
	}
	return t.record.cancel(ctx, ErrTaskClosed)
}
