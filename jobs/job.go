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

// Status is how a job, a task or a work is.
type Status string

// The statuses (spec/contracts/jobs.notes.md, "REST", status). Behind Running, a job or task has ended. Pending is only said of works.
const (
	Pending     Status = "Pending" // a work that was not begun
	Running     Status = "Running"
	Succeeded   Status = "Succeeded"
	Failed      Status = "Failed"
	Canceled    Status = "Canceled"
	Interrupted Status = "Interrupted" // by the end of its portal
)

// Ended says whether nothing more happens.
func (s Status) Ended() bool { return s != Pending && s != Running }

// JobInfo is a job as it was at a time.
type JobInfo struct {
	ID        string
	Name      string
	Status    Status
	Directory string
	Input     string
	Started   time.Time
	Ended     time.Time // zero until then
	Error     string    // why it failed, if that was no answer of a task; "" otherwise
	Reason    string    // what was decided last in one of its tasks; "" so far
	Continues string    // the job that it goes on with; "" if none
	Works     []Progress
	Sessions  int    // how many it has opened so far
	Events    uint64 // the number of the newest event
}

// Progress is how far a Ref of a job is: the last time that it was begun, for in a loop it may be often.
type Progress struct {
	Work   int    // its id in the job
	Task   string // the id of the task that does it, or did; "" before
	Name   string // of the task, in the book
	Status Status
	Rounds int    // how often it was begun
	Reason string // what was decided last in its task; "" so far
}

// apply takes an event into what is known of a job.
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
		i.applyTold(b)
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

func (i *JobInfo) applyTold(b WorkEvent) {
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

// progress finds a Ref; they are in the order of their ids.
func (i *JobInfo) progress(work int) *Progress {
	at, ok := slices.BinarySearchFunc(i.Works, work, func(p Progress, id int) int { return cmp.Compare(p.Work, id) })
	if !ok {
		return nil
	}
	return &i.Works[at]
}

// Job is a tree of works at work, for any number of clients. Its methods may be called concurrently.
type Job struct{ record *jobRecord }

// ID is the job's UUID.
func (j *Job) ID() string { return j.record.ID() }

// Info is the job as it is now. Readers share its works and must not change them.
func (j *Job) Info() JobInfo { return j.record.Head() }

// Reader returns a reader of the events with numbers above after.
func (j *Job) Reader(after uint64) *follow.Reader[Event] { return newReader(j.record, after) }

// newReader reads the events of a job or task, which have no gaps.
func newReader(record follow.Log[Event], after uint64) *follow.Reader[Event] {
	return follow.New(record, func(e Event) uint64 { return e.Number }, after)
}

// Next returns events with numbers above after (0: all), at most limit, if that is above 0. It waits while there are none;
// [io.EOF] is behind the last one. A cancelled ctx makes it a read that does not wait: it returns what there is, or the error
// of ctx.
func (j *Job) Next(ctx context.Context, after uint64, limit int) ([]Event, error) {
	return j.record.Next(ctx, after, limit)
}

// Cancel ends the job and returns when it has ended, with all its sessions stopped, or ctx is done. Errors: [ErrJobClosed]
// if it has ended already, kind [fault.Busy] if another process does it.
func (j *Job) Cancel(ctx context.Context) error {
	err := j.record.Cancel(ctx)
	if errors.Is(err, activity.ErrEnded) {
		return ErrJobClosed
	}
	return err
}
