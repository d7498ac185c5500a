package jobs

import "time"

// Event is an entry in the record of a job or task. Readers share it and must not modify it.
type Event struct {
	Number uint64 // 1, 2, 3 … without gaps
	Time   time.Time
	Body   Body
}

// Body is the content of an event: one of the types below. Its JSON has the keys, and Callback the name, of
// spec/contracts/jobs.notes.md, "REST". The name is "" if the event has no callback there.
type Body interface{ Callback() string }

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

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (TaskSessionStarted) Callback() string { return "taskSessionStarted" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (TaskSessionStopped) Callback() string { return "taskSessionStopped" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (TaskDecision) Callback() string { return "taskDecision" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (TaskSucceeded) Callback() string { return "taskSucceeded" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (TaskFailed) Callback() string { return "taskFailed" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (TaskError) Callback() string { return "taskError" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (WorkStarted) Callback() string { return "workStarted" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (WorkStopped) Callback() string { return "workStopped" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (WorkEvent) Callback() string { return "" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (JobSucceeded) Callback() string { return "jobSucceeded" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (JobFailed) Callback() string { return "jobFailed" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (JobCanceled) Callback() string { return "jobCanceled" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (JobInterrupted) Callback() string { return "" }

// Callback is the name in spec/contracts/jobs.notes.md, "REST".
func (JobError) Callback() string { return "jobError" }
