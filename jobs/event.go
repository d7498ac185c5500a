package jobs

import "time"

// Event is something that happened in a job or in a task. Readers share it and must not change it.
type Event struct {
	Number uint64 // 1, 2, 3 … without holes
	Time   time.Time
	Body   Body
}

// Body is what happened: one of the types below. Its JSON has the keys of the contract; Callback is its name there, "" if the
// contract has none.
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
		// Status says it in more words than the contract has.
		Status Status `json:"status"`
	}
	// WorkTold is what happened in the task of a work, so that one record shows all of a job. The contract has no callback
	// for it: the record of the task has it.
	WorkTold struct {
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

// Callback is the name in the contract.
func (TaskSessionStarted) Callback() string { return "taskSessionStarted" }

// Callback is the name in the contract.
func (TaskSessionStopped) Callback() string { return "taskSessionStopped" }

// Callback is the name in the contract.
func (TaskDecision) Callback() string { return "taskDecision" }

// Callback is the name in the contract.
func (TaskSucceeded) Callback() string { return "taskSucceeded" }

// Callback is the name in the contract.
func (TaskFailed) Callback() string { return "taskFailed" }

// Callback is the name in the contract.
func (TaskError) Callback() string { return "taskError" }

// Callback is the name in the contract.
func (WorkStarted) Callback() string { return "workStarted" }

// Callback is the name in the contract.
func (WorkStopped) Callback() string { return "workStopped" }

// Callback is the name in the contract.
func (WorkTold) Callback() string { return "" }

// Callback is the name in the contract.
func (JobSucceeded) Callback() string { return "jobSucceeded" }

// Callback is the name in the contract.
func (JobFailed) Callback() string { return "jobFailed" }

// Callback is the name in the contract.
func (JobCanceled) Callback() string { return "jobCanceled" }

// Callback is the name in the contract.
func (JobInterrupted) Callback() string { return "" }

// Callback is the name in the contract.
func (JobError) Callback() string { return "jobError" }
