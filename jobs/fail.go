package jobs

import (
	"github.com/copilot-portal/portal/copilot/fault"
)

// The errors for which dialects have codes of their own. They may be wrapped: use errors.Is.
var (
	ErrJobNotFound  = &fault.Error{Kind: fault.NotFound, Text: "no such job: it never existed, or has expired"}
	ErrTaskNotFound = &fault.Error{Kind: fault.NotFound, Text: "no such task: it never existed, or has expired"}
	ErrNotInBook    = &fault.Error{Kind: fault.NotFound, Text: "the job book defines nothing of that name"}
	ErrNoInput      = &fault.Error{Kind: fault.Invalid, Text: "user input is required: describe what to do"}
	ErrLongInput    = &fault.Error{Kind: fault.Invalid, Text: "the user input is longer than 1 MiB: put it into a file and give its path"}
	ErrJobClosed    = &fault.Error{Kind: fault.Invalid, Text: "the job has ended already"}
	ErrTaskClosed   = &fault.Error{Kind: fault.Invalid, Text: "the task has ended already"}
	ErrTaskOfJob    = &fault.Error{Kind: fault.Invalid, Text: "the task belongs to a job: stop the job instead"}
	ErrJobRuns      = &fault.Error{Kind: fault.Busy, Text: "the job is still running"}
	ErrJobDone      = &fault.Error{Kind: fault.Invalid, Text: "the job has succeeded: nothing is left to do"}
)
