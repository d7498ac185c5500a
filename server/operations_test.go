package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// operationMessage is the part of an operation's message that the tests use.
type operationMessage struct {
	Sequence int
	Type     string
	Content  string
}

// visit returns a new session id.
func visit(t *testing.T, p *portaltest.Portal, body string) string {
	t.Helper()
	status, answer := p.Do("POST", "/api/v1/auth/verify", body)
	require.Equal(t, http.StatusOK, status, answer)
	var v struct {
		ID string `json:"session_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &v))
	return v.ID
}

// operate starts an operation and returns its id.
func operate(t *testing.T, p *portaltest.Portal, session, body string) string {
	t.Helper()
	status, answer := p.Do("POST", "/api/v1/operations", body, "X-Session-ID", session)
	require.Equal(t, http.StatusAccepted, status, answer)
	var o struct {
		ID string `json:"operation_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &o))
	return o.ID
}

// statusOf returns the status of an operation.
func statusOf(t *testing.T, p *portaltest.Portal, session, id string) string {
	t.Helper()
	_, answer := p.Do("GET", "/operations/"+id, "", "X-Session-ID", session)
	var o struct{ Status string }
	require.NoError(t, json.Unmarshal([]byte(answer), &o))
	return o.Status
}

// watch connects to an operation and continues after a message.
func watch(t *testing.T, p *portaltest.Portal, session, id string, after int) *contract.Socket {
	t.Helper()
	query := url.Values{"operation_id": {id}, "session_id": {session}, "last_received_sequence": {fmt.Sprint(after)}}
	conn, status := dial(t, p.URL, "/ws?"+query.Encode(), nil)
	require.Equal(t, http.StatusSwitchingProtocols, status)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(agentStarts)))
	return conn
}

// readMessages reads messages without notices until wanted accepts one, or until the end, whose error it returns.
func readMessages(t *testing.T, conn *contract.Socket, wanted func(operationMessage) bool) (all []operationMessage, err error) {
	t.Helper()
	for {
		_, text, err := conn.ReadMessage()
		if err != nil {
			return all, err
		}
		var m operationMessage
		require.NoError(t, json.Unmarshal(text, &m))
		if m.Sequence < 0 {
			continue
		}
		all = append(all, m)
		if wanted != nil && wanted(m) {
			return all, nil
		}
	}
}

// expectFailedEnd reads the messages after a message, and checks that the last ones are error and complete.
func expectFailedEnd(t *testing.T, conn *contract.Socket, after int) {
	t.Helper()
	rest, err := readMessages(t, conn, nil)
	assert.True(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "%v", err)
	require.GreaterOrEqual(t, len(rest), 2)
	for i, m := range rest {
		assert.Equal(t, after+1+i, m.Sequence)
	}
	assert.Equal(t, []string{"error", "complete"}, []string{rest[len(rest)-2].Type, rest[len(rest)-1].Type})
}

// longOperation is a document whose operation runs a long command.
const longOperation = `{"type": "prompt", "prompt": "Think. Then run ` + "`sleep 300`" + `.", "model": "demo"}`

func awaitThinking(t *testing.T, conn *contract.Socket) (last int) {
	t.Helper()
	all, err := readMessages(t, conn, func(m operationMessage) bool { return m.Type == "thinking" })
	require.NoError(t, err)
	for i, m := range all {
		assert.Equal(t, i, m.Sequence)
	}
	return len(all) - 1
}

// startedOperation is an operation that runs a long command.
type startedOperation struct {
	t           *testing.T
	visitor, id string
	conn        *contract.Socket // that watches it
	last        int              // message that was read
}

// startsLongOperation starts an operation and waits until its model thinks.
func startsLongOperation(t *testing.T, p *portaltest.Portal) *startedOperation {
	t.Helper()
	o := &startedOperation{t: t, visitor: visit(t, p, "")}
	o.id = operate(t, p, o.visitor, longOperation)
	o.conn = watch(t, p, o.visitor, o.id, -1)
	o.last = awaitThinking(t, o.conn)
	require.NoError(t, o.conn.SetReadDeadline(time.Now().Add(agentStarts)))
	return o
}

func (o *startedOperation) expectFailedEnd() {
	o.t.Helper()
	expectFailedEnd(o.t, o.conn, o.last)
}

// TestKilledAgentIsReportedAndReplaced and TestKilledPortalLeavesNoProcessBehind end operations, too.
func TestShutdownReportsEndsOfOperationsAndMCPCalls(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}})
	operation := startsLongOperation(t, p)
	c := connectMCP(t, overHTTP(p, ""))
	id := c.use("start_session", document{})["sessionId"]
	var result document
	var failure string
	var call sync.WaitGroup
	call.Go(func() {
		result, failure = c.try(t.Context(), "prompt", document{"sessionId": id, "prompt": "wait 10 min"})
	})
	c.awaitReport("The agent has started.")

	began := testclock.Now()
	stopped := make(chan struct{})
	go func() { defer close(stopped); p.Stop() }()
	operation.expectFailedEnd()
	call.Wait()
	assert.Empty(t, failure)
	assert.Equal(t, "interrupted", result["state"])
	<-stopped
	assert.Less(t, began.Elapsed(), 5*time.Second)
	p = p.Restart()
	assert.Equal(t, "interrupted", statusOf(t, p, operation.visitor, operation.id))
}

func TestSessionIDReplacesTheTokenForOperationsOnly(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Env: []string{"PORTAL_TOKEN=the secret"}, Args: []string{"--ephemeral"}})
	status, answer := p.Do("POST", "/auth/verify", `{"token": "x"}`)
	assert.Equal(t, http.StatusUnauthorized, status)
	assert.Contains(t, answer, `"valid":false`)
	session := visit(t, p, `{"token": "the secret"}`)
	for path, want := range map[string]int{
		"/operations": 200, "/api/v1/operations": 200, "/auth/verify": 200, "/operations/x": 404, "/ws": 400,
		"/": 401, "/api/test": 401, "/health": 401, "/ui": 401, "/metrics": 401, "/api/v1/nothing": 401,
	} {
		status, answer := p.Do("GET", path, "", "X-Session-ID", session)
		assert.Equal(t, want, status, "%s: %s", path, answer)
		status, _ = p.Do("GET", path, "", "X-Session-ID", session, "Origin", "http://evil.example")
		assert.Equal(t, http.StatusForbidden, status, path)
		status, _ = p.Do("GET", path, "")
		assert.Equal(t, http.StatusUnauthorized, status, path)
	}
	id := operate(t, p, session, `{"type": "prompt", "prompt": "say `+"`well`"+`", "model": "demo"}`)
	all, err := readMessages(t, watch(t, p, session, id, -1), nil)
	require.True(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "%v", err)
	assert.Equal(t, "well", all[0].Content)
	status, _ = p.Do("POST", "/auth/logout", "", "X-Session-ID", session)
	assert.Equal(t, http.StatusOK, status)
	status, _ = p.Do("GET", "/operations", "", "X-Session-ID", session)
	assert.Equal(t, http.StatusUnauthorized, status)
}
