package jobs

import (
	"reflect"
	"time"
)

// Event is an entry in the record of a job or task. Readers share it and must not modify it.
type Event struct {
	Number uint64 // 1, 2, 3 … without gaps
	Time   time.Time
	Body   Body
}

// Body is the content of an event: one of the types below. Its JSON has the keys of
// spec/contracts/jobs.notes.md, "REST".
type Body interface{ isBody() }

// The events of a task.
type (
	// TaskSessionStarted is recorded when a session starts to work for the task.
	TaskSessionStarted struct {
		Session string `json:"sessionId"`
		Driving bool   `json:"isDriving"`        // it decides whether the task succeeds; true for the only session of a task
		Checks  bool   `json:"checks,omitempty"` // it only checks
	}
	// TaskSessionStopped is recorded when a session stops working for the task. It succeeded unless it failed technically.
	TaskSessionStopped struct {
		Session   string `json:"sessionId"`
		Succeeded bool   `json:"succeeded"`
	}
	// TaskDecision explains a decision to users: the result of a check, or the reason for a
	// retry.
	TaskDecision struct {
		Reason string `json:"reason"`
	}
	// TaskSucceeded is a final event.
	TaskSucceeded struct{}
	// TaskFailed is a final event. TaskError precedes it unless the agent's answer made the task fail.
	TaskFailed struct{}
	// TaskError contains an error; TaskFailed follows.
	TaskError struct {
		Error string `json:"taskError"`
	}
)

// The events of a job.
type (
	// WorkStarted is recorded when a task starts for a Ref.
	WorkStarted struct {
		Work int    `json:"workId"`
		Task string `json:"taskId"` // id of the task
	}
	// WorkStopped is recorded when that task has ended.
	WorkStopped struct {
		Work      int  `json:"workId"`
		Succeeded bool `json:"succeeded"`
		// Status is more precise than Succeeded, the only key in spec/contracts/jobs.notes.md, "REST".
		Status Status `json:"status"`
	}
	// WorkEvent is an event of a work's task, so that the job's record is complete. It has no callback in
	// spec/contracts/jobs.notes.md, "REST", because the task's record has the event itself.
	WorkEvent struct {
		Work int    `json:"workId"`
		Task string `json:"taskId"`
		Body Body   `json:"-"`
	}
	// JobSucceeded is a final event, as are the next three. Each job has exactly one.
	JobSucceeded struct{}
	// JobFailed is a final event. JobError precedes it unless an answer of the agent made the job fail.
	JobFailed struct{}
	// JobCanceled is a final event.
	JobCanceled struct{}
	// JobInterrupted is a final event. It has no callback; JobError precedes it.
	JobInterrupted struct{}
	// JobError contains an error; the final event follows.
	JobError struct {
		Error string `json:"jobError"`
	}
)

func (TaskSessionStarted) isBody() {}
func (TaskSessionStopped) isBody() {}
func (TaskDecision) isBody()       {}
func (TaskSucceeded) isBody()      {}
func (TaskFailed) isBody()         {}
func (TaskError) isBody()          {}
func (WorkStarted) isBody()        {}
func (WorkStopped) isBody()        {}
func (WorkEvent) isBody()          {}
func (JobSucceeded) isBody()       {}
func (JobFailed) isBody()          {}
func (JobCanceled) isBody()        {}
func (JobInterrupted) isBody()     {}
func (JobError) isBody()           {}

// eventType is a type of events with its name, which is stored: never rename or reuse one.
type eventType struct {
	name string
	zero Body
}

// The names of events that have no callback.
const (
	nameWorkEvent      = "workTold"
	nameJobInterrupted = "jobInterrupted"
)

// eventTypes returns all types but [WorkEvent], which is stored with another event.
func eventTypes() []eventType {
	return []eventType{
		{"taskSessionStarted", TaskSessionStarted{}},
		{"taskSessionStopped", TaskSessionStopped{}},
		{"taskDecision", TaskDecision{}},
		{"taskSucceeded", TaskSucceeded{}},
		{"taskFailed", TaskFailed{}},
		{"taskError", TaskError{}},
		{"workStarted", WorkStarted{}},
		{"workStopped", WorkStopped{}},
		{"jobSucceeded", JobSucceeded{}},
		{"jobFailed", JobFailed{}},
		{"jobCanceled", JobCanceled{}},
		{nameJobInterrupted, JobInterrupted{}},
		{"jobError", JobError{}},
	}
}

// Name returns the name of an event.
func Name(b Body) string {
	for _, t := range eventTypes() {
		if reflect.TypeOf(b) == reflect.TypeOf(t.zero) {
			return t.name
		}
	}
	return nameWorkEvent
}

// Callback returns the name of an event in spec/contracts/jobs.notes.md, "REST", or "" if the event has no callback
// there.
func Callback(b Body) string {
	name := Name(b)
	if name == nameWorkEvent || name == nameJobInterrupted {
		return ""
	}
	return name
}
