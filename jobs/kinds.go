package jobs

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
)

// The logs of jobs and tasks. The record of a job starts with its book.
type (
	jobLog     = activity.Log[JobInfo, Event]
	jobRecord  = activity.Record[JobInfo, Event]
	taskLog    = activity.Log[TaskInfo, Event]
	taskRecord = activity.Record[TaskInfo, Event]
)

// Names of the kinds in the store.
const (
	jobName  = "job"
	taskName = "task"
)

func (h *Host) jobKind() activity.Kind[JobInfo, Event] {
	return activity.Kind[JobInfo, Event]{
		Name: jobName, Entry: "event", Lead: 1,
		ID: func(i *JobInfo) *string { return &i.ID }, Created: func(i JobInfo) time.Time { return i.Started },
		Ended: func(i JobInfo) time.Time { return i.Ended }, Count: func(i JobInfo) uint64 { return i.Events },
		Number: func(i JobInfo, e Event, at time.Time) Event { return Event{i.Events + 1, at, e.Body} },
		Apply:  JobInfo.apply, Encode: encode, Decode: decode,
		Unreadable: func(id string, created time.Time, count uint64) JobInfo {
			return JobInfo{ID: id, Status: Running, Started: created, Events: count}
		},
		Abandon: h.abandonJob, Abandoned: func(context.Context, JobInfo) {},
		NotFound: ErrJobNotFound,
	}
}

func (h *Host) taskKind() activity.Kind[TaskInfo, Event] {
	return activity.Kind[TaskInfo, Event]{
		Name: taskName, Entry: "event",
		ID: func(i *TaskInfo) *string { return &i.ID }, Created: func(i TaskInfo) time.Time { return i.Started },
		Ended: func(i TaskInfo) time.Time { return i.Ended }, Count: func(i TaskInfo) uint64 { return i.Events },
		Number: func(i TaskInfo, e Event, at time.Time) Event { return Event{i.Events + 1, at, e.Body} },
		Apply:  TaskInfo.apply, Encode: encode, Decode: decode,
		Unreadable: func(id string, created time.Time, count uint64) TaskInfo {
			return TaskInfo{ID: id, Status: Running, Started: created, Events: count}
		},
		Abandon: abandonTask, Abandoned: h.closeSessions,
		NotFound: ErrTaskNotFound,
	}
}

// events wraps bodies in events without numbers.
func events(bodies []Body) []Event {
	list := make([]Event, len(bodies))
	for i, b := range bodies {
		list[i].Body = b
	}
	return list
}
