package page

import (
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/handlers/wire"
	"github.com/copilot-portal/portal/jobs"
)

// jobInfo is a job at one moment.
type jobInfo struct {
	JobID     string      `json:"job_id"`
	Name      string      `json:"name"`
	Status    jobs.Status `json:"status"`
	Directory string      `json:"directory"`
	Input     string      `json:"input"`
	Started   string      `json:"started_at"`
	Ended     string      `json:"ended_at,omitempty"`
	Error     string      `json:"error,omitempty"`
	Continues string      `json:"continues,omitempty"`
	Works     []jobWork   `json:"works"`
	Sessions  int         `json:"sessions"`
	Events    uint64      `json:"events"`
}

// jobWork is the progress of a work of a job.
type jobWork struct {
	Work   int         `json:"work_id"`
	Name   string      `json:"name"` // of the task
	Task   string      `json:"task_id,omitempty"`
	Status jobs.Status `json:"status"`
	Rounds int         `json:"rounds"`
}

func encodeJob(i jobs.JobInfo) jobInfo {
	encoded := jobInfo{
		JobID: i.ID, Name: i.Name, Status: i.Status, Directory: i.Directory, Input: secret.Mask(i.Input), Started: event.FormatTime(i.Started),
		Ended: event.FormatTime(i.Ended), Error: i.Error, Continues: i.Continues, Works: []jobWork{}, Sessions: i.Sessions, Events: i.Events,
	}
	for _, w := range i.Works {
		encoded.Works = append(encoded.Works, jobWork{w.Work, w.Name, w.Task, w.Status, w.Rounds})
	}
	return encoded
}

// maxListedInput limits the input of a job in lists, in characters.
const maxListedInput = 200

// inList returns jobs as lists show them.
func inList(list []jobs.JobInfo) []jobInfo {
	return wire.List(list, func(i jobs.JobInfo) jobInfo {
		one := encodeJob(i)
		if begin := []rune(one.Input); len(begin) > maxListedInput {
			one.Input = string(begin[:maxListedInput-1]) + "…"
		}
		return one
	})
}

// jobEvent is an event of a job. Its type determines which other members it has.
type jobEvent struct {
	JobID     string      `json:"job_id"`
	Number    uint64      `json:"number"`
	Time      string      `json:"time"`
	Type      string      `json:"type"`
	Work      int         `json:"work_id,omitempty"`
	Task      string      `json:"task_id,omitempty"`
	Session   string      `json:"session_id,omitempty"`
	Driving   *bool       `json:"driving,omitempty"`
	Succeeded *bool       `json:"succeeded,omitempty"`
	Status    jobs.Status `json:"status,omitempty"`
	Text      string      `json:"text,omitempty"`
}

func encodeJobEvent(job string, e jobs.Event) jobEvent {
	encoded := jobEvent{JobID: job, Number: e.Number, Time: event.FormatTime(e.Time)}
	if b, ok := e.Body.(jobs.WorkEvent); ok {
		encoded.Work, encoded.Task = b.Work, b.Task
		encoded.ofTask(b.Body)
		return encoded
	}
	switch b := e.Body.(type) {
	case jobs.WorkStarted:
		encoded.Type, encoded.Work, encoded.Task = "work_started", b.Work, b.Task
	case jobs.WorkStopped:
		encoded.Type, encoded.Work, encoded.Succeeded, encoded.Status = "work_stopped", b.Work, &b.Succeeded, b.Status
	case jobs.JobSucceeded:
		encoded.Type = "job_succeeded"
	case jobs.JobFailed:
		encoded.Type = "job_failed"
	case jobs.JobCanceled:
		encoded.Type = "job_canceled"
	case jobs.JobInterrupted:
		encoded.Type = "job_interrupted"
	case jobs.JobError:
		encoded.Type, encoded.Text = "job_error", b.Error
	default:
		encoded.Type = "other"
	}
	return encoded
}

// ofTask fills in an event of the task of a work.
func (e *jobEvent) ofTask(body jobs.Body) {
	switch b := body.(type) {
	case jobs.TaskSessionStarted:
		e.Type, e.Session, e.Driving = "session_started", b.Session, &b.Checks
	case jobs.TaskSessionStopped:
		e.Type, e.Session, e.Succeeded = "session_stopped", b.Session, &b.Succeeded
	case jobs.TaskDecision:
		e.Type, e.Text = "decision", b.Reason
	case jobs.TaskSucceeded:
		e.Type = "task_succeeded"
	case jobs.TaskFailed:
		e.Type = "task_failed"
	case jobs.TaskError:
		e.Type, e.Text = "task_error", b.Error
	default:
		e.Type = "other"
	}
}
