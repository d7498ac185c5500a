package jobs

import (
	"context"
	"time"
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
	Sessions []TaskSession // in the order in which they came
	Events   uint64        // the number of the newest event
}

// TaskSession is a session that a task works in.
type TaskSession struct {
	ID      string // of a [copilot.Session]
	Driving bool   // it checks what others did
	Status  Status // Succeeded: it was not broken, whatever it answered
}

// Task is a prompt at work, for any number of clients. Its methods may be called concurrently.
type Task struct{}

// ID is the task's UUID.
func (t *Task) ID() string { panic("engine") }

// Info is the task as it is now.
func (t *Task) Info() TaskInfo { panic("engine") }

// Next reads events as [Job.Next] does.
func (t *Task) Next(ctx context.Context, after uint64, limit int) ([]Event, error) { panic("engine") }

// Cancel ends the task and returns when it has ended or ctx is done. Errors: [ErrTaskClosed] if it has ended already,
// [ErrTaskOfJob] if it belongs to a job, which is to be cancelled instead, kind [copilot.Busy] if another process does it.
func (t *Task) Cancel(ctx context.Context) error { panic("engine") }
