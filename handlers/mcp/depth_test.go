package mcp_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/mcp"
)

const tooDeep = "too_deep: "

func TestPortalBelowTheDepthLimitStartsNothing(t *testing.T) {
	serve(t, nil, func(o *mcp.Options) { o.Depth, o.MaxDepth = 2, 2 }, func(c *client) {
		for tool, arguments := range map[string]document{
			"start_session": {}, "prompt": {"sessionId": "x", "prompt": "hello"},
			"run_job": {"name": "understand"}, "start_operation": {"type": "prompt", "prompt": "hello"},
		} {
			_, failure := c.try(c.Context(), tool, arguments)
			assert.Contains(c, failure, tooDeep, tool)
		}
		_, failure := c.try(c.Context(), "start_session", document{})
		assert.Equal(c, "too_deep: an agent at depth 2 may not put another one to work: the limit is 2 (limits.depth)", failure)
		assert.Contains(c, c.use("list_sessions", document{}), "sessions", "reading is harmless")
	})
}

func TestAgentOfAPortalStartsNeitherJobsNorOperations(t *testing.T) {
	serve(t, nil, func(o *mcp.Options) { o.Depth = 1 }, func(c *client) {
		c.start()
		for tool, arguments := range map[string]document{"run_job": {"name": "understand"}, "start_operation": {"type": "prompt", "prompt": "hello"}} {
			_, failure := c.try(c.Context(), tool, arguments)
			assert.Contains(c, failure, tooDeep, tool)
		}
	})
}

// TestAgentsOfThisPortalReachTheLimit lets the script of each agent call the tool as an MCP client would, while its record says that it
// calls it.
func TestAgentsOfThisPortalReachTheLimit(t *testing.T) {
	var c *client
	var failure string
	serve(t, func(t *fake.Turn) {
		t.Emit(event.ToolStarted{ID: "c", Name: "portal-start_session"})
		got, text := c.try(c.Context(), "start_session", document{})
		t.Emit(event.ToolEnded{ID: "c", Result: &event.ToolResult{}})
		if failure = text; failure != "" {
			return
		}
		t.Emit(event.ToolStarted{ID: "d", Name: "portal-prompt"})
		c.use("prompt", document{"sessionId": got["sessionId"], "prompt": "go on"})
		t.Emit(event.ToolEnded{ID: "d", Result: &event.ToolResult{}})
	}, nil, func(top *client) {
		c = top
		c.use("prompt", document{"sessionId": c.start(), "prompt": "start"})
		assert.Contains(c, failure, "at depth 3")
		list, _ := c.use("list_sessions", document{})["sessions"].([]any)
		assert.Len(c, list, 3, "the limit is 3")
		c.start() // a client that is no agent starts at the top again
	})
}

func TestAgentsThatPromptEachOtherReachTheLimit(t *testing.T) {
	var c *client
	var sessions []string
	var prompts atomic.Int32
	failures := make(chan string, 10)
	serve(t, func(t *fake.Turn) {
		n := prompts.Add(1)
		if n > 5 {
			return
		}
		t.Emit(event.ToolStarted{ID: "c", Name: "portal-prompt"})
		_, failure := c.try(c.Context(), "prompt", document{"sessionId": sessions[n%2], "prompt": "your turn", "waitSeconds": 0})
		t.Emit(event.ToolEnded{ID: "c", Result: &event.ToolResult{}})
		failures <- failure
	}, nil, func(top *client) {
		c = top
		sessions = []string{c.start(), c.start()}
		c.use("prompt", document{"sessionId": sessions[0], "prompt": "your turn"})
		refused := 0
		for range 3 { // in any order
			if failure := <-failures; failure != "" {
				assert.Contains(c, failure, tooDeep)
				refused++
			}
		}
		assert.Equal(c, 1, refused)
		assert.EqualValues(c, 3, prompts.Load())
	})
}

func TestAgentAnswersOnlyQuestionsOfSessionsBelowIt(t *testing.T) {
	var c *client
	var own, below string
	serve(t, func(t *fake.Turn) {
		t.Emit(event.ToolStarted{ID: "c", Name: "portal-answer"})
		for _, id := range []string{own, below} {
			_, failure := c.try(c.Context(), "answer", document{"sessionId": id, "questionId": "none", "approved": true})
			t.Say(failure)
		}
		t.Emit(event.ToolEnded{ID: "c", Result: &event.ToolResult{}})
	}, nil, func(top *client) {
		c = top
		own, below = c.start(), c.start()
		s, err := c.host.Session(c.Context(), below)
		require.NoError(c, err)
		s.SetAttribute("mcp.depth", "2")
		got := c.use("prompt", document{"sessionId": own, "prompt": "answer"})
		assert.Contains(c, got["answer"], "question_not_found", "the last one is below")
		assert.Contains(c, c.seen(), "denied: an agent may answer only questions of sessions that it started: a person must answer this one")
	})
}
