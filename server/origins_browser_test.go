package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// foreignSite serves another web site and returns its address with a host name that resolves to this machine.
func foreignSite(t *testing.T, host string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><title>A dashboard</title>`)
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "127.0.0.1", host, 1)
}

// site is a page of another origin that calls a portal.
type site struct {
	*testing.T
	tab    *portaltest.Browser
	portal string
}

// pageResponse is the part of a response that a page can read; Status is 0 if the browser hides it.
type pageResponse struct {
	Status int
	Body   struct {
		SessionID   string `json:"session_id"`
		OperationID string `json:"operation_id"`
		Status      string
		Error       any
	}
}

// socketResult is what a page receives from a socket.
type socketResult struct {
	Code  int
	Types []string
	Text  string
}

func evaluateIn[T any](s site, expression string) T {
	s.Helper()
	value, err := chromedp.Run(s.tab.Context, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(s, err)
	return value
}

// fetch sends a request to the portal; more contains further options of fetch, as JavaScript.
func (s site) fetch(method, path, session, body, more string) pageResponse {
	s.Helper()
	return evaluateIn[pageResponse](s, fmt.Sprintf(`(async () => {
		const [method, session, body] = [%q, %q, %q];
		const headers = { ...(body && { "Content-Type": "application/json" }), ...(session && { "X-Session-ID": session }) };
		try {
			const answer = await fetch(%q, { method, headers, ...(body && { body }), %s });
			return { status: answer.status, body: await answer.json().catch(() => ({})) };
		} catch {
			return { status: 0, body: {} };
		}
	})()`, method, session, body, s.portal+path, more))
}

// socket opens a socket and reads it to its end.
func (s site) socket(query string) socketResult {
	s.Helper()
	return evaluateIn[socketResult](s, fmt.Sprintf(`new Promise((done) => {
		const all = { types: [], text: "" };
		const socket = new WebSocket(%q, "portal.v1");
		socket.onmessage = ({ data }) => {
			const { sequence, type, content } = JSON.parse(data);
			if (sequence < 0) return;
			all.types.push(type);
			all.text += content;
		};
		socket.onclose = ({ code }) => done({ code, ...all });
	})`, strings.Replace(s.portal, "http", "ws", 1)+"/ws?"+query))
}

func TestBrowserUsesOperationsFromAnAllowedOrigin(t *testing.T) {
	ownPort, ownHost, stranger := foreignSite(t, "localhost"), foreignSite(t, "dashboard.example"), foreignSite(t, "localhost")
	p := portaltest.Start(t, portaltest.Options{
		Args:   []string{"--demo", "--token", token},
		Config: fmt.Sprintf("allowed_origins: [%q, %q]\n", ownPort, ownHost),
	})
	browser := portaltest.StartChromium(t, chromedp.Flag("host-resolver-rules", "MAP dashboard.example 127.0.0.1"))
	visit := func(t *testing.T, url string) site {
		t.Helper()
		tab := browser.Open(t, url)
		tab.IgnoreConsole() // the browser reports refused requests
		return site{t, tab, p.URL}
	}
	for name, url := range map[string]string{"another port": ownPort, "another host name": ownHost} {
		t.Run(name, func(t *testing.T) { watchesAnOperation(visit(t, url)) })
	}
	t.Run("an origin that is not allowed", func(t *testing.T) { checkRefused(visit(t, stranger), visit(t, ownPort)) })
}

const rightToken = `{"token": "` + token + `"}`

func watchesAnOperation(s site) {
	assert.Equal(s, http.StatusUnauthorized, s.fetch("POST", "/auth/verify", "", `{"token": "wrong"}`, "").Status)
	session := s.fetch("POST", "/auth/verify", "", rightToken, "").Body.SessionID
	require.NotEmpty(s, session)
	started := s.fetch("POST", "/api/v1/operations", session, `{"type": "prompt", "prompt": "say `+"`heron`"+`"}`, "")
	require.Equal(s, http.StatusAccepted, started.Status, started.Body.Error)
	id := started.Body.OperationID

	all := s.socket("session_id=" + session + "&operation_id=" + id)
	assert.Equal(s, 1000, all.Code)
	require.NotEmpty(s, all.Types)
	assert.Equal(s, "complete", all.Types[len(all.Types)-1])
	assert.Contains(s, all.Text, "heron")
	assert.Equal(s, "completed", s.fetch("GET", "/operations/"+id, session, "", "").Body.Status)

	for _, row := range []struct {
		code  int
		query string
	}{
		{4404, "session_id=" + session + "&operation_id=nothing"},
		{4400, "session_id=" + session},
		{4400, "session_id=" + session + "&operation_id=" + id + "&last_received_sequence=many"},
		{4401, "session_id=nobody&operation_id=" + id},
		{4401, "operation_id=" + id},
	} {
		assert.Equal(s, row.code, s.socket(row.query).Code, row.query)
	}
	assert.Equal(s, http.StatusNotFound, s.fetch("GET", "/operations/nothing", session, "", "").Status, "the page can read errors")
	assert.Zero(s, s.fetch("GET", "/api/test", session, "", "").Status, "all other paths are refused")
	assert.Zero(s, s.fetch("GET", "/operations", "", "", `credentials: "include"`).Status, "cookies do not count")
}

// checkRefused checks that a page cannot do what an allowed page can.
func checkRefused(s, allowed site) {
	session := allowed.fetch("POST", "/auth/verify", "", rightToken, "").Body.SessionID
	require.NotEmpty(s, session)
	before := allowed.fetch("POST", "/operations", session, `{"type": "prompt", "prompt": "wait 5 s say `+"`stork`"+`"}`, "")
	require.Equal(s, http.StatusAccepted, before.Status)
	id := before.Body.OperationID

	assert.Zero(s, s.fetch("POST", "/auth/verify", "", rightToken, "").Status)
	assert.Zero(s, s.fetch("GET", "/operations", session, "", "").Status)
	assert.Zero(s, s.fetch("GET", "/operations?session_id="+session, "", "", "").Status, "not even without a preflight")
	s.fetch("POST", "/operations/"+id+"/cancel?session_id="+session, "", "", `mode: "no-cors"`) // is sent, but the page cannot read the response
	all := s.socket("session_id=" + session + "&operation_id=" + id)
	assert.Equal(s, 4403, all.Code)
	assert.Empty(s, all.Types)
	assert.Equal(s, 1000, allowed.socket("session_id="+session+"&operation_id="+id).Code)
	assert.Equal(s, "completed", allowed.fetch("GET", "/operations/"+id, session, "", "").Body.Status, "it was not cancelled")
}
