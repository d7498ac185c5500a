package jobs

import "github.com/copilot-portal/portal/copilot"

// The errors that dialects have words of their own for. They may arrive wrapped: use errors.Is.
var (
	ErrJobNotFound  = &copilot.Error{Kind: copilot.NotFound, Text: "no such job: it never was, or has ended too long ago"}
	ErrTaskNotFound = &copilot.Error{Kind: copilot.NotFound, Text: "no such task: it never was, or has ended too long ago"}
	ErrNotInBook    = &copilot.Error{Kind: copilot.NotFound, Text: "the job book has nothing of that name"}
	ErrNoInput      = &copilot.Error{Kind: copilot.Invalid, Text: "it needs user input: say what is to be done"}
	ErrLongInput    = &copilot.Error{Kind: copilot.Invalid, Text: "the user input is longer than 1 MiB: put it into a file, and name that"}
	ErrJobClosed    = &copilot.Error{Kind: copilot.Invalid, Text: "the job has ended already"}
	ErrTaskClosed   = &copilot.Error{Kind: copilot.Invalid, Text: "the task has ended already"}
	ErrTaskOfJob    = &copilot.Error{Kind: copilot.Invalid, Text: "the task belongs to a job: stop that"}
	ErrJobRuns      = &copilot.Error{Kind: copilot.Busy, Text: "the job is still at work"}
	ErrJobDone      = &copilot.Error{Kind: copilot.Invalid, Text: "the job has succeeded: there is nothing left to do"}
)
