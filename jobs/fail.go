package jobs

import (
	"github.com/copilot-portal/portal/copilot/fault"
)

// The errors that dialects have words of their own for. They may arrive wrapped: use errors.Is.
var (
	ErrJobNotFound  = &fault.Error{Kind: fault.NotFound, Text: "no such job: it never was, or has ended too long ago"}
	ErrTaskNotFound = &fault.Error{Kind: fault.NotFound, Text: "no such task: it never was, or has ended too long ago"}
	ErrNotInBook    = &fault.Error{Kind: fault.NotFound, Text: "the job book has nothing of that name"}
	ErrNoInput      = &fault.Error{Kind: fault.Invalid, Text: "it needs user input: say what is to be done"}
	ErrLongInput    = &fault.Error{Kind: fault.Invalid, Text: "the user input is longer than 1 MiB: put it into a file, and name that"}
	ErrJobClosed    = &fault.Error{Kind: fault.Invalid, Text: "the job has ended already"}
	ErrTaskClosed   = &fault.Error{Kind: fault.Invalid, Text: "the task has ended already"}
	ErrTaskOfJob    = &fault.Error{Kind: fault.Invalid, Text: "the task belongs to a job: stop that"}
	ErrJobRuns      = &fault.Error{Kind: fault.Busy, Text: "the job is still at work"}
	ErrJobDone      = &fault.Error{Kind: fault.Invalid, Text: "the job has succeeded: there is nothing left to do"}
)
