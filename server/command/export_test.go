package command

import (
	"context"
	"io"

	"github.com/copilot-portal/portal/jobs"
)

// For the tests of package command_test.
var (
	Plain        = plain
	When         = shortTime
	Unrestricted = unrestricted
)

// WriteTo writes to a file as an export does.
func WriteTo(path string, write func(io.Writer) error) error { return Process{}.writeTo(path, write) }

// FollowJob shows a job until it ends. shown gets whether an update is the cancellation.
func FollowJob(ctx context.Context, j *jobs.Job, shown func(isCancellation bool)) error {
	return followJob(ctx, j, func(u update, _ jobs.JobInfo) error { shown(u.kind == jobCancelled); return nil })
}
