package command_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
	"github.com/copilot-portal/portal/server/command"
)

func TestCancellationIsShownAlthoughTheJobEndsBeforeTheNextRead(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b, err := book.Load("jobs.yaml", []byte("models: {driving: \"\"}\ntasks: {t: {prompt: [x]}}\njobs: {j: {work: {kind: Ref, taskId: t}}}\n"))
		require.NoError(t, err)
		agents := fake.New()
		defer agents.Close()
		host := agents.NewHost(copilot.Options{})
		defer host.Close(t.Context())
		all := jobs.New(jobs.Options{Sessions: host, Book: b, Directory: dir})
		defer all.Close(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		j, err := all.StartJob(ctx, jobs.JobRequest{Name: "j"})
		require.NoError(t, err)
		cancellations := 0
		require.NoError(t, command.FollowJob(ctx, j, func(isCancellation bool) {
			if isCancellation {
				cancellations++
			}
			cancel()
			time.Sleep(time.Minute) // meanwhile, the job ends
		}))
		assert.Equal(t, 1, cancellations)
	})
}
