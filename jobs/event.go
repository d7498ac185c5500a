package jobs

import "time"

// Event is something that happened in a job or in a task. Readers share it and must not change it.
type Event struct {
	Number uint64 // 1, 2, 3 … without holes
	Time   time.Time
	Body   Body
}

// Body is what happened: one of the types below. Its JSON has the keys, and Callback the name, of spec/contracts/jobs.notes.md,
// "REST"; the name is "" for a body that has no callback there.
type Body interface{ Callback() string }

// What happens in a task.
type (
	// TaskSessionStarted says that a session works for the task from now on.
	TaskSessionStarted struct {
		Session string `json:"sessionId"`
		Driving bool   `json:"isDriving"`        // it decides whether the task is done, as the only session of a task does
		Checks  bool   `json:"checks,omitempty"` // it does nothing else
	}
	// TaskSessionStopped says that it does not any more. A session succeeded if it was not broken.
	TaskSessionStopped struct {
		Session   string `json:"sessionId"`
		Succeeded bool   `json:"succeeded"`
	}
	// TaskDecision says, for people, what was found and what follows: what a check said, why a prompt is given again.
	TaskDecision struct {
		Reason string `json:"reason"`
	}
	// TaskSucceeded is an end.
	TaskSucceeded struct{}
	// TaskFailed is an end: by an answer of the agent, after TaskError by a fault.
	TaskFailed struct{}
	// TaskError says what went wrong; TaskFailed follows.
	TaskError struct {
		Error string `json:"taskError"`
	}
)

// What happens in a job.
type (
	// WorkStarted says that a task was begun for a Ref.
	WorkStarted struct {
		Work int    `json:"workId"`
		Task string `json:"taskId"` // the id to find it by
	}
	// WorkStopped is the end of that.
	WorkStopped struct {
		Work      int  `json:"workId"`
		Succeeded bool `json:"succeeded"`
		// Status says more than Succeeded, the only key in spec/contracts/jobs.notes.md, "REST".
		Status Status `json:"status"`
	}
	// WorkEvent is what happened in the task of a work, so that one record shows all of a job. It has no callback in
	// spec/contracts/jobs.notes.md, "REST": the record of the task has it.
	WorkEvent struct {
		Work int    `json:"workId"`
		Task string `json:"taskId"`
		Body Body   `json:"-"`
	}
	// JobSucceeded is an end of a job, as are the next three; each job has one end.
	JobSucceeded struct{}
	// JobFailed is an end: by an answer of the agent, after JobError by a fault.
	JobFailed struct{}
	// JobCanceled is an end.
	JobCanceled struct{}
	// JobInterrupted is an end. It has no callback: jobError says it.
	JobInterrupted struct{}
	// JobError says what went wrong; the end follows.
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
