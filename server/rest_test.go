package server_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// names returns the callbacks in order, without consecutive duplicates.
func names(responses []portaltest.Response) []string {
	var list []string
	for _, r := range responses {
		list = append(list, r.Name())
	}
	return slices.Compact(list)
}

func find(t *testing.T, responses []portaltest.Response, name string) portaltest.Response {
	t.Helper()
	i := slices.IndexFunc(responses, func(r portaltest.Response) bool { return r.Name() == name })
	require.GreaterOrEqual(t, i, 0, "no %s among %v", name, responses)
	return responses[i]
}

// Tests whose changes others do not see share a portal.
func TestSessionsOfOnePortal(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	for name, use := range map[string]func(*testing.T, *portaltest.Portal){
		"a run of the real agent has all twelve callbacks in order":             givesAllTwelveCallbacks,
		"queries during a run are queued, and each ends with one idle":          queuesPrompts,
		"after a stop the queue is handed out, and the session can be reopened": handsOutTheQueue,
		"a session is exported":                                                exports,
		"bad input gets a clear error, and nothing is lost":                    refusesBadInput,
		"a plan is sent back, and approved":                                    sendsPlansBack,
		"the demo has a plan for whatever is asked in plan mode":               proposesPlans,
		"a request without an upgrade is refused":                              wantsWebSockets,
		"a session has three clients":                                          hasThreeClients,
		"methods of the CLI are served at /rpc":                                servesCLIMethods,
		"an editor uses the session of another client":                         editorUsesSession,
		"an agent uses unsaved changes of an attached editor":                  usesUnsavedChangesOfAttached,
		"the run of an MCP client that disconnects goes on":                    goesOnWithoutMCPClient,
		"an MCP client cancels calls over HTTP":                                cancelsOverHTTP,
		"an MCP client runs jobs and operations":                               runsJobsAndOperations,
		"sessions run in parallel over one process":                            runSessionsInParallel,
		"a thousand concurrent requests are answered":                          answersThousandRequests,
		"long and invalid lines are answered":                                  answersLongAndInvalidLines,
		"an overlong line is answered with an error":                           refusesOverlongLines,
		"the last request of a bridge before the end of its input is answered": answersLastRequestOfBridge,
		"a closed output ends stdio":                                           endsStdioWithItsOutput,
		"unread output does not delay the end of stdio":                        stopsStdioWithUnreadOutput,
		"signals end a bridge":                                                 endsBridgesWithSignals,
		"unknown flags of stdio are ignored with a warning":                    ignoresUnknownStdioFlags,
		"a portal listens":                                                     hasOpenPort,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			use(t, p.For(t))
		})
	}
}

func givesAllTwelveCallbacks(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	dir := t.TempDir()
	id := p.StartSession(dir, "")

	got := p.Run(id, "think, then run `pwd; echo done`, then say `All is well.`")

	assert.Equal(t, []string{
		"onAgentStart",
		"onStartReasoning", "onReasoning", "onEndMessage", "onEndReasoning",
		"onStartToolExecution", "onToolExecution", "onEndToolExecution",
		"onAgentEnd", "onAgentStart",
		"onStartMessage", "onMessage", "onEndMessage",
		"onAgentEnd", "onIdle",
	}, names(got))
	start := find(t, got, "onStartToolExecution")
	assert.Equal(t, "bash", start.Text("toolName"))
	assert.True(t, strings.HasPrefix(start.Text("toolArguments"), "{\n  \""), "indented by 2: %s", start.Text("toolArguments"))
	end := find(t, got, "onEndToolExecution")
	result, _ := end["result"].(map[string]any)
	target, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	assert.Contains(t, result["content"], target+"\ndone")
	assert.Contains(t, portaltest.Answer(got), "All is well.")
	assertDeltasAddUp(t, got)
}

// assertDeltasAddUp checks that the deltas of each message add up to its text.
func assertDeltasAddUp(t *testing.T, responses []portaltest.Response) {
	t.Helper()
	sums := map[string]string{}
	for _, r := range responses {
		switch r.Name() {
		case "onMessage":
			sums[r.Text("messageId")] += r.Text("delta")
		case "onReasoning":
			sums[r.Text("reasoningId")] += r.Text("delta")
		case "onEndMessage":
			assert.Equal(t, r.Text("completeContent"), sums[r.Text("messageId")])
		case "onEndReasoning":
			// The CLI trims a complete thought.
			assert.Equal(t, strings.TrimSpace(r.Text("completeContent")), strings.TrimSpace(sums[r.Text("reasoningId")]))
		}
	}
}

func runSessionsInParallel(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		id := p.StartSession(dir, "")
		all.Go(func() {
			got := p.Run(id, "say `"+id+"`")
			assert.Contains(t, portaltest.Answer(got), id)
			assert.Equal(t, 1, strings.Count(strings.Join(names(got), " "), "onIdle"))
		})
	}
	all.Wait()
	assert.Len(t, p.Agents(), 1)
}

func queuesPrompts(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	id := p.StartSession(t.TempDir(), "")
	p.Query(id, "wait 1 s, then say `first`")
	p.Query(id, "say `second`")
	assert.Contains(t, portaltest.Answer(p.Until(id, "onIdle")), "first")
	assert.Contains(t, portaltest.Answer(p.Until(id, "onIdle")), "second")
}

func handsOutTheQueue(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	id := p.StartSession(t.TempDir(), "")
	p.Run(id, "say `remember the heron`")
	p.Query(id, "say `left over`")
	require.Eventually(t, func() bool { return state(p, id) == "idle" }, soon, tick, "it runs although nobody reads")

	assert.Equal(t, portaltest.Response{"result": "Closed"}, p.API("POST", "copilot/session/"+id+"/stop", ""))
	assert.Equal(t, portaltest.Response{"error": "SessionNotFound"}, p.API("GET", "copilot/session/"+id+"/stop", ""))
	assert.Equal(t, portaltest.Response{"error": "SessionNotFound"}, p.API("POST", "copilot/session/"+id+"/query", "x"))
	assert.Contains(t, portaltest.Answer(p.Until(id, "onIdle")), "left over")
	assert.Equal(t, portaltest.Response{"error": "SessionNotFound"}, p.Live(id))

	assert.Empty(t, p.API("POST", "copilot/session/"+id+"/resume", ""))
	assert.Contains(t, portaltest.Answer(p.Run(id, "recall")), "heron")
}

func TestKilledAgentIsReportedAndReplaced(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	p.Run(id, "say `the word is heron`")
	operation := startsLongOperation(t, p)
	p.Query(id, "run `sleep 600`")
	p.Until(id, "onStartToolExecution")
	require.Eventually(t, func() bool { return hasCommand(p, "sleep 600") }, soon, tick)

	killed := testclock.Now()
	require.NoError(t, syscall.Kill(p.Agents()[0].PID, syscall.SIGKILL))
	got := p.Until(id, "onIdle")
	assert.Less(t, killed.Elapsed(), 2*time.Second)
	assert.Contains(t, find(t, got, "sessionError").Text("sessionError"), "ended unexpectedly")
	require.Eventually(t, func() bool { return len(p.Children()) == 0 }, soon, tick, "processes left: %v", p.Children())
	assert.Less(t, killed.Elapsed(), 2*time.Second)
	operation.expectFailedEnd()
	assert.Equal(t, "failed", statusOf(t, p, operation.visitor, operation.id))

	assert.Contains(t, portaltest.Answer(p.Run(id, "recall")), "heron")
	assert.Len(t, p.Agents(), 1)
}

func TestKilledPortalLeavesNoProcessBehind(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	p.Query(id, "run `sleep 600`")
	require.Eventually(t, func() bool { return hasCommand(p, "sleep 600") }, soon, tick)
	o := startsLongOperation(t, p)
	p.Kill()
	_, err := readMessages(t, o.conn, nil)
	require.Error(t, err)
	assert.False(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "it was not a normal end")
	require.Eventually(t, func() bool { return len(p.Children()) == 0 }, soon, tick)

	p = p.Restart()
	expectFailedEnd(t, watch(t, p, o.visitor, o.id, o.last), o.last)
	expectFailedEnd(t, watch(t, p, o.visitor, o.id, -1), -1)
	assert.Equal(t, "interrupted", statusOf(t, p, o.visitor, o.id))
}

// state returns the state of a session in the list.
func state(p *portaltest.Portal, id string) string {
	list, _ := p.API("GET", "copilot/session", "")["sessions"].([]any)
	for _, entry := range list {
		if s, ok := entry.(map[string]any); ok && s["sessionId"] == id {
			return fmt.Sprint(s["state"])
		}
	}
	return ""
}

func hasCommand(p *portaltest.Portal, part string) bool {
	return slices.ContainsFunc(p.Children(), func(c portaltest.Process) bool {
		return strings.HasPrefix(c.Command, part)
	})
}

func TestAPIStopEndsThePortalDespiteOpenPollsAndARun(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	p.Query(id, "run `sleep 600`")
	p.Until(id, "onStartToolExecution")
	polls := make([]*portaltest.Reader, 100)
	for i := range polls {
		polls[i] = p.Follow(id, fmt.Sprintf("t%d", i))
	}
	// A poll takes 5 s, so on a busy machine some are always about to begin.
	require.Eventually(t, func() bool { return scrapeOf(t, p).value("portal_readers_waiting") >= len(polls)/2 }, soon, tick, "polls are open")
	begin := time.Now()
	assert.Empty(t, p.API("GET", "stop", ""))
	p.WaitExit(3 * time.Second)
	t.Logf("stopped after %v", time.Since(begin))
	for _, r := range polls {
		<-r.Done()
		assert.NotEmpty(t, r.Responses())
	}
}
