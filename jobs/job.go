package jobs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/follow"
)

// Status is the state of a job, task or work.
type Status string

// The statuses (spec/contracts/jobs.notes.md, "REST", status). Those after Running are final. Only works can
// be Pending.
const (
	Pending     Status = "Pending" // the work has not started
	Running     Status = "Running"
	Succeeded   Status = "Succeeded"
	Failed      Status = "Failed"
	Canceled    Status = "Canceled"
	Interrupted Status = "Interrupted" // because its portal ended
)

// Ended reports whether the status is final.
func (s Status) Ended() bool { return s != Pending && s != Running }

// JobInfo is a snapshot of a job.
type JobInfo struct {
	ID        string
	Name      string
	Status    Status
	Directory string
	Input     string
	Started   time.Time
	Ended     time.Time // zero if it has not ended
	Error     string    // why it failed, unless because of an answer; otherwise ""
	Reason    string    // latest decision in one of its tasks, or ""
	Continues string    // id of the job that this one continues, or ""
	Works     []Progress
	Sessions  int    // number of sessions opened so far
	Events    uint64 // number of the newest event
}

// Progress is the state of a Ref of a job. In a loop, it is the state of the latest round.
type Progress struct {
	Work   int    // its id in the job
	Task   string // id of the latest task, or ""
	Name   string // name of the task in the book
	Status Status
	Rounds int    // how often it was started
	Reason string // latest decision in its task, or ""
}

// apply returns the snapshot after an event.
func (i JobInfo) apply(e Event) JobInfo {
	i.Works = slices.Clone(i.Works)
	i.Events = e.Number
	switch b := e.Body.(type) {
	case WorkStarted:
		if p := i.progress(b.Work); p != nil {
			p.Task, p.Status, p.Reason = b.Task, Running, ""
			p.Rounds++
		}
	case WorkStopped:
		if p := i.progress(b.Work); p != nil {
			p.Status = b.Status
		}
	case WorkEvent:
		i.applyWorkEvent(b)
	case JobError:
		i.Error = b.Error
	case JobSucceeded:
		i.Status, i.Ended = Succeeded, e.Time
	case JobFailed:
		i.Status, i.Ended = Failed, e.Time
	case JobCanceled:
		i.Status, i.Ended = Canceled, e.Time
	case JobInterrupted:
		i.Status, i.Ended = Interrupted, e.Time
	}
	return i
}

func (i *JobInfo) applyWorkEvent(b WorkEvent) {
	switch body := b.Body.(type) {
	case TaskSessionStarted:
		i.Sessions++
	case TaskDecision:
		if p := i.progress(b.Work); p != nil {
			p.Reason = body.Reason
		}
		i.Reason = body.Reason
	}
}

// progress finds a Ref. They are sorted by id.
func (i *JobInfo) progress(work int) *Progress {
	at, ok := slices.BinarySearchFunc(i.Works, work, func(p Progress, id int) int { return cmp.Compare(p.Work, id) })
	if !ok {
		return nil
	}
	return &i.Works[at]
}

// Job is a job, for any number of clients. It is safe for concurrent use.
type Job struct{ record *jobRecord }

// ID returns the job's UUID.
func (j *Job) ID() string { return j.record.ID() }

// Info returns a snapshot of the job. Readers share its works and must not modify them.
func (j *Job) Info() JobInfo { return j.record.Head() }

// Reader returns a reader of the events with numbers above after. There are no gaps.
func (j *Job) Reader(after uint64) *follow.Reader[Event] { return newReader(j.record, after) }

// newReader returns a reader of the events of a job or task, which have no gaps.
func newReader(record follow.Log[Event], after uint64) *follow.Reader[Event] {
	return follow.New(record, func(e Event) uint64 { return e.Number }, after)
}

// Cancel ends the job. It returns when the job has ended and all its sessions are stopped, or ctx is done.
// Errors: [ErrJobClosed] if the job has already ended, kind [fault.Busy] if another process runs it.
func (j *Job) Cancel(ctx context.Context) error {
	err := j.record.Cancel(ctx)
	if errors.Is(err, activity.ErrEnded) {
		return ErrJobClosed
	}
	return err
}
