package server_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// sharing is a portal with a token, with a session that asks, another one, and links to the first.
type sharing struct {
	*testing.T
	p              *portaltest.Portal
	session, other string
}

const ownerToken = "the-token-of-the-owner"

// call calls a method of /rpc over HTTP.
func (s sharing) call(token, method string, params document) (result document, refusal string) {
	s.Helper()
	text, err := json.Marshal(document{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	require.NoError(s, err)
	status, answer := s.p.Do("POST", "/rpc", string(text), withBearer(token)...)
	require.Equal(s, http.StatusOK, status, answer)
	var d struct {
		Result document
		Error  *struct {
			Message string
			Data    any
		}
	}
	require.NoError(s, json.Unmarshal([]byte(answer), &d), answer)
	if d.Error != nil {
		text, _ := d.Error.Data.(string)
		return nil, d.Error.Message + ": " + text
	}
	return d.Result, ""
}

// link creates a link and returns its token and id.
func (s sharing) link(rights string) (token, id string) {
	s.Helper()
	x, refusal := s.call(ownerToken, "share.create", document{"sessionId": s.session, "rights": rights, "expiresIn": 3600})
	require.Empty(s, refusal)
	token, _ = x["token"].(string)
	id, _ = x["shareId"].(string)
	assert.Equal(s, "/s/"+id+"/#"+token, x["path"])
	return token, id
}

func (s sharing) revoke(id string) {
	s.Helper()
	_, refusal := s.call(ownerToken, "share.revoke", document{"sessionId": s.session, "shareId": id})
	require.Empty(s, refusal)
}

// owner sends a request of REST as the owner.
func (s sharing) owner(method, path, body string) string {
	s.Helper()
	status, answer := s.p.Do(method, "/api"+path, body, withBearer(ownerToken)...)
	require.Equal(s, http.StatusOK, status, answer)
	return answer
}

// socket opens a WebSocket by a link.
func (s sharing) socket(path, token string) *contract.Socket {
	s.Helper()
	conn, status := dial(s.T, s.p.URL, path, http.Header{"Authorization": {"Bearer " + token}})
	require.Equal(s, http.StatusSwitchingProtocols, status)
	s.Cleanup(func() { _ = conn.Close() })
	return conn
}

// exchange sends a request and returns the response.
func (s sharing) exchange(conn *contract.Socket, method string, params document) (result, failure document) {
	s.Helper()
	require.NoError(s, conn.WriteJSON(document{"jsonrpc": "2.0", "id": "x", "method": method, "params": params}))
	d := s.until(conn, func(d document) bool { return d["id"] == "x" && d["method"] == nil })
	result, _ = d["result"].(document)
	failure, _ = d["error"].(document)
	return result, failure
}

// until reads up to a message.
func (s sharing) until(conn *contract.Socket, wanted func(document) bool) document {
	s.Helper()
	for {
		var d document
		require.NoError(s, conn.ReadJSON(&d))
		if wanted(d) {
			return d
		}
	}
}

// closed reads up to the close of a connection, which must be because of the link.
func (s sharing) closed(conn *contract.Socket) {
	s.Helper()
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			assert.True(s, websocket.IsCloseError(err, websocket.ClosePolicyViolation), "%v", err)
			assert.Contains(s, err.Error(), "expired or was revoked")
			return
		}
	}
}

// ask makes the agent ask, and returns the id of the question.
func (s sharing) ask(text string) string {
	s.Helper()
	s.owner("POST", "/copilot/session/"+s.session+"/query", "run `echo "+text+"`")
	for {
		var d document
		require.NoError(s, json.Unmarshal([]byte(s.owner("GET", "/copilot/session/"+s.session+"/live/"+text, "")), &d))
		list, _ := d["responses"].([]any)
		for _, one := range list {
			r, _ := one.(document)
			if id, ok := r["requestId"].(string); ok && r["callback"] == "onPermissionRequest" && strings.Contains(r["detail"].(string), text) {
				return id
			}
		}
	}
}

func TestLinkWorksInEveryDialect(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Config: "token: " + ownerToken})
	s := sharing{T: t, p: p}
	start := func() (id string) {
		var d document
		require.NoError(t, json.Unmarshal([]byte(s.owner("POST", "/copilot/session/start/"+demoModel+"?permissions=ask", t.TempDir())), &d))
		id, _ = d["sessionId"].(string)
		return id
	}
	s.session, s.other = start(), start()
	t.Run("REST", s.rest)
	t.Run("RPC over HTTP, with the stream", s.http)
	t.Run("RPC over a WebSocket", s.rpc)
	t.Run("UI", s.ui)
}

const demoModel = "demo"

func (s sharing) in(t *testing.T) sharing {
	t.Helper()
	return sharing{t, s.p.For(t), s.session, s.other}
}

func (s sharing) rest(t *testing.T) {
	s = s.in(t)
	read, id := s.link("read")
	answer, _ := s.link("answer")
	at := "/api/copilot/session/" + s.session
	question := s.ask("rest")
	_, live := s.p.Do("GET", at+"/live/mine", "", withBearer(read)...)
	assert.Contains(t, live, question, "the question is seen")
	_, other := s.p.Do("GET", "/api/copilot/session/"+s.other+"/live/mine", "", withBearer(read)...)
	assert.JSONEq(t, `{"error":"SessionNotFound"}`, other)
	for _, refused := range []string{"/query", "/cancel", "/stop", "/fork", "/answer/" + question} {
		status, text := s.p.Do("POST", at+refused, `{"approved":true}`, withBearer(read)...)
		assert.Equal(t, http.StatusForbidden, status, refused)
		assert.Contains(t, text, "this link lets you read one session, nothing else")
	}
	status, _ := s.p.Do("POST", "/api/copilot/session/"+s.other+"/answer/"+question, `{"approved":true}`, withBearer(answer)...)
	assert.Equal(t, http.StatusOK, status, "no such session, as this dialect says it")
	for _, lasting := range []string{`{"approved":true,"remember":true}`, `{"approved":true,"scope":"commands"}`} {
		status, text := s.p.Do("POST", at+"/answer/"+question, lasting, withBearer(answer)...)
		assert.Equal(t, http.StatusForbidden, status, text)
	}
	status, text := s.p.Do("POST", at+"/answer/"+question, `{"approved":true}`, withBearer(answer)...)
	assert.Equal(t, http.StatusOK, status)
	assert.JSONEq(t, `{}`, text)
	_, list := s.p.Do("GET", "/api/copilot/session", "", withBearer(read)...)
	assert.Contains(t, list, s.session)
	assert.NotContains(t, list, s.other)
	s.revoke(id)
	status, _ = s.p.Do("GET", at+"/history", "", withBearer(read)...)
	assert.Equal(t, http.StatusUnauthorized, status)
}

func (s sharing) http(t *testing.T) {
	s = s.in(t)
	read, id := s.link("read")
	answer, _ := s.link("answer")
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.p.URL+"/stream/"+s.session, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+read)
	stream, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer stream.Body.Close()
	require.Equal(t, http.StatusOK, stream.StatusCode)
	lines := bufio.NewReader(io.TeeReader(stream.Body, contract.NewStream(t)))
	question := s.ask("http")
	for line := ""; !strings.Contains(line, question); {
		line, err = lines.ReadString('\n')
		require.NoError(t, err, "the stream has the question")
	}
	list, refusal := s.call(read, "session.list", nil)
	require.Empty(t, refusal)
	assert.Len(t, list["sessions"], 1)
	for method, params := range map[string]document{
		"session.send": {"sessionId": s.session, "prompt": "x"}, "question.answer": {"sessionId": s.session, "requestId": question, "approved": true},
		"share.create": {"sessionId": s.session}, "share.list": {"sessionId": s.session}, "session.create": {}, "models.list": {},
	} {
		_, refusal := s.call(read, method, params)
		assert.Contains(t, refusal, "this link lets you read one session, nothing else", method)
	}
	_, refusal = s.call(answer, "question.answer", document{"sessionId": s.other, "requestId": question, "approved": true})
	assert.Contains(t, refusal, "Session not found")
	for member, value := range (document{"remember": true, "scope": "commands"}) {
		_, refusal = s.call(answer, "question.answer", document{"sessionId": s.session, "requestId": question, "approved": true, member: value})
		assert.Contains(t, refusal, "once")
	}
	_, refusal = s.call(answer, "question.answer", document{"sessionId": s.session, "requestId": question, "approved": true})
	assert.Empty(t, refusal)
	status, _ := s.p.Do("GET", "/stream/"+s.other, "", withBearer(read)...)
	assert.Equal(t, http.StatusNotFound, status)
	s.revoke(id)
	_, err = io.Copy(io.Discard, lines)
	require.NoError(t, err, "the stream ends")
}

func (s sharing) rpc(t *testing.T) {
	s = s.in(t)
	read, id := s.link("read")
	answer, _ := s.link("answer")
	conn := s.socket("/rpc", read)
	_, failure := s.exchange(conn, "session.subscribe", document{"sessionId": s.other})
	assert.Equal(t, "Session not found", failure["message"])
	_, failure = s.exchange(conn, "session.subscribe", document{"sessionId": s.session})
	require.Nil(t, failure)
	question := s.ask("socket")
	s.until(conn, func(d document) bool {
		text, _ := json.Marshal(d)
		return strings.Contains(string(text), question)
	})
	_, failure = s.exchange(conn, "session.send", document{"sessionId": s.session, "prompt": "x"})
	assert.Contains(t, failure["data"], "this link lets you read one session")
	result, failure := s.exchange(s.socket("/rpc", answer), "question.answer", document{"sessionId": s.session, "requestId": question, "approved": true})
	require.Nil(t, failure)
	assert.Equal(t, true, result["answered"])
	s.revoke(id)
	s.closed(conn)
	_, status := dial(t, s.p.URL, "/rpc", http.Header{"Authorization": {"Bearer " + read}})
	assert.Equal(t, http.StatusUnauthorized, status)
}

func (s sharing) ui(t *testing.T) {
	s = s.in(t)
	read, id := s.link("read")
	answer, _ := s.link("answer")
	reads, answers := s.socket("/ui", read), s.socket("/ui", answer)
	for _, conn := range []*contract.Socket{reads, answers} {
		_, failure := s.exchange(conn, "initialize", document{"ui_capabilities": document{"supports_confirm": true, "supports_prompt": true}})
		require.Nil(t, failure)
		_, failure = s.exchange(conn, "portal.session.attach", document{"session_id": s.other})
		assert.InDelta(t, -32004, failure["code"], 0)
		_, failure = s.exchange(conn, "run.start", document{"session_id": s.session, "input": document{"type": "text", "text": "x"}})
		assert.Contains(t, failure["message"], "this link lets you read one session")
		_, failure = s.exchange(conn, "portal.session.attach", document{"session_id": s.session})
		require.Nil(t, failure)
	}
	current, _ := s.exchange(answers, "portal.share.current", nil)
	assert.Equal(t, "answer", current["rights"])
	question := s.ask("ui")
	asked := s.until(answers, func(d document) bool { return d["method"] == "ui.confirm.request" })
	params, _ := asked["params"].(document)
	assert.Equal(t, false, params["allow_remember"])
	assert.Nil(t, params["scopes"])
	meta, _ := params["meta"].(document)
	assert.Equal(t, question, meta["question_id"])
	require.NoError(t, answers.WriteJSON(document{"jsonrpc": "2.0", "id": asked["id"], "result": document{"ok": true, "remember": true}}))
	over := s.until(reads, func(d document) bool {
		assert.NotEqual(t, "ui.confirm.request", d["method"], "a reader is not asked")
		p, _ := d["params"].(document)
		return p["status"] == "completed"
	})
	assert.NotNil(t, over)
	list, _ := s.exchange(reads, "session.list", nil)
	assert.Len(t, list["sessions"], 1)
	assert.Empty(t, list["current_workspace_root"])
	s.revoke(id)
	s.closed(reads)
}
