package mcp_test

import (
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/mcp"
)

func TestOperationReturnsItsResult(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		t.Wait(2 * time.Minute)
		t.Say("the result")
	}, nil, func(c *client) {
		got := c.use("start_operation", document{"type": "prompt", "prompt": "hello"})
		assert.Equal(c, "running", got["status"])
		id, _ := got["operationId"].(string)
		got = c.use("read_operation", document{"operationId": id, "waitSeconds": 600})
		assert.Equal(c, "completed", got["status"])
		assert.Contains(c, got["result"], "document")
		r, err := c.ReadResource(c.Context(), &sdk.ReadResourceParams{URI: "portal://operation/" + id})
		require.NoError(c, err)
		assert.Contains(c, r.Contents[0].Text, "the result")
	})
}

func TestOperationIsStopped(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Wait(time.Hour) }, nil, func(c *client) {
		id := c.use("start_operation", document{"type": "prompt", "prompt": "hello", "waitSeconds": 1})["operationId"]
		assert.Equal(c, "cancelled", c.use("stop_operation", document{"operationId": id})["status"])
	})
}

func TestJobIsWatchedAndStopped(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Wait(time.Hour) }, nil, func(c *client) {
		all, _ := c.use("list_jobs", document{})["jobs"].([]any)
		assert.Contains(c, all, document{"name": "implement", "requireUserInput": true})
		got := c.use("run_job", document{"name": "implement", "input": "a feature", "waitSeconds": 1})
		assert.Equal(c, "Running", got["status"])
		assert.NotEmpty(c, got["tasks"])
		assert.Contains(c, c.seen(), "A task has started.")
		id, _ := got["jobId"].(string)
		assert.Equal(c, "Canceled", c.use("stop_job", document{"jobId": id})["status"])
		assert.Equal(c, "Canceled", c.use("watch_job", document{"jobId": id})["status"])
		_, failure := c.try(c.Context(), "stop_job", document{"jobId": id})
		assert.Contains(c, failure, "job_ended: ")
		r, err := c.ReadResource(c.Context(), &sdk.ReadResourceParams{URI: "portal://job/" + id})
		require.NoError(c, err)
		assert.Contains(c, r.Contents[0].Text, "Canceled")
	})
}

func TestFaultyBookStartsNoJob(t *testing.T) {
	serve(t, nil, func(o *mcp.Options) { o.BookFault = fault.Errorf(fault.Unavailable, "the book is faulty") }, func(c *client) {
		for tool, arguments := range map[string]document{"list_jobs": {}, "run_job": {"name": "understand"}} {
			_, failure := c.try(c.Context(), tool, arguments)
			assert.Equal(c, "unavailable: the book is faulty", failure)
		}
	})
}
