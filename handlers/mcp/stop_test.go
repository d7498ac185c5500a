package mcp_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestRequestsAreAnsweredAfterTheEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		agents.Script = func(t *fake.Turn) { t.Wait(10 * time.Minute) }
		defer agents.Close()
		host := agents.NewHost(copilot.Options{})
		defer host.Close(t.Context())
		s, err := host.Start(t.Context(), copilot.Start{Origin: "test", Directory: "/"})
		require.NoError(t, err)
		c := connectLines(t, host, func() { host.Close(t.Context()) })
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"prompt","arguments":{"sessionId":"` + s.ID() + `","prompt":"hello"}}}`)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, c.in.Close())
		last := <-c.answers
		assert.Contains(t, last, `"id":2`)
		assert.True(t, strings.Contains(last, `"state":"cancelled"`) || strings.Contains(last, `"state":"interrupted"`), last)
		require.NoError(t, <-c.served)
		assert.Less(t, time.Since(began), 3*time.Second)
	})
}

// What the calls wait for goes on, as in another portal.
func TestWaitingCallsAreAnsweredAtTheStop(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Wait(time.Hour) }, nil, func(c *client) {
		session := c.start()
		c.use("prompt", document{"sessionId": session, "prompt": "hello", "waitSeconds": 0})
		job := c.use("run_job", document{"name": "implement", "input": "a feature", "waitSeconds": 0})["jobId"]
		operation := c.use("start_operation", document{"type": "prompt", "prompt": "hello", "waitSeconds": 0})["operationId"]
		settled := time.Now().Add(time.Minute)
		c.use("wait", document{"sessionId": session, "waitSeconds": time.Until(settled).Seconds()})
		results := make(chan document)
		for tool, arguments := range map[string]document{
			"wait":           {"sessionId": session, "waitSeconds": 3600},
			"prompt":         {"sessionId": c.start(), "prompt": "hello", "waitSeconds": 3600},
			"watch_job":      {"jobId": job, "waitSeconds": 3600},
			"read_operation": {"operationId": operation, "waitSeconds": 3600},
		} {
			go func() { results <- c.use(tool, arguments) }()
		}
		synctest.Wait()
		began := time.Now()
		c.api.Close()
		for range 4 {
			got := <-results
			assert.Contains(c, []any{"working", "Running", "running", nil}, got["state"], got)
			assert.Contains(c, []any{"working", "Running", "running", nil}, got["status"], got)
		}
		assert.Zero(c, time.Since(began))
		assert.Equal(c, "working", c.use("wait", document{"sessionId": session})["state"], "and the run goes on")
	})
}
