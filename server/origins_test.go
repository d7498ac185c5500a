package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

const (
	dashboard = "https://dashboard.example"
	theToken  = "the secret token"
)

// shared returns a portal that a dashboard may use.
func shared(t *testing.T) http.Handler {
	t.Helper()
	return inside(t, func(c *server.Config) { c.Token, c.AllowedOrigins = theToken, []string{dashboard} }).Handler(8888)
}

// from sends a request as a page of an origin; header contains names and values in turn.
func from(h http.Handler, origin, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:8888"+path, strings.NewReader(body))
	if origin != "" {
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// code returns the code of an error in the format of operations.
func code(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var body struct {
		Error struct {
			Code, Message string
			RequestID     string `json:"request_id"`
			Details       []any
		}
		Timestamp time.Time
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body), w.Body)
	assert.NotEmpty(t, body.Error.Message)
	assert.NotEmpty(t, body.Error.RequestID)
	assert.NotNil(t, body.Error.Details)
	assert.False(t, body.Timestamp.IsZero())
	return body.Error.Code
}

func TestAllowedOriginMayUseOperationsWithAToken(t *testing.T) {
	h := shared(t)
	w := from(h, dashboard, "OPTIONS", "/operations", "", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "x-session-id")
	assert.Equal(t, http.StatusNoContent, w.Code)
	assert.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), "X-Session-ID")
	assert.Equal(t, dashboard, w.Header().Get("Access-Control-Allow-Origin"))
	assert.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"), "cookies do not count")

	assert.Equal(t, http.StatusUnauthorized, from(h, dashboard, "POST", "/auth/verify", "").Code)
	w = from(h, dashboard, "POST", "/auth/verify", `{"token": "`+theToken+`"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	assert.Equal(t, dashboard, w.Header().Get("Access-Control-Allow-Origin"))
	assert.Contains(t, w.Header().Values("Vary"), "Origin")
	var visit struct {
		ID string `json:"session_id"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &visit))
	assert.Equal(t, http.StatusOK, from(h, dashboard, "GET", "/api/v1/operations", "", "X-Session-ID", visit.ID).Code)
	w = from(h, dashboard, "GET", "/operations/x", "", "X-Session-ID", visit.ID)
	assert.Equal(t, http.StatusNotFound, w.Code)
	assert.Equal(t, dashboard, w.Header().Get("Access-Control-Allow-Origin"), "the page can read errors")
}

func TestOtherOriginsAndOtherPathsAreRefused(t *testing.T) {
	h := shared(t)
	for _, origin := range []string{"https://evil.example", "http://dashboard.example", "https://dashboard.example:444", "null"} {
		w := from(h, origin, "POST", "/auth/verify", `{"token": "`+theToken+`"}`)
		assert.Equal(t, http.StatusForbidden, w.Code, origin)
		assert.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
		assert.Equal(t, "DENIED", code(t, w))
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost:8888/operations", nil)
	r.Header = http.Header{"Origin": {dashboard, "https://evil.example"}, "Authorization": {"Bearer " + theToken}}
	two := httptest.NewRecorder()
	h.ServeHTTP(two, r)
	assert.Equal(t, http.StatusForbidden, two.Code, "two origins are invalid")
	for _, path := range []string{"/api/test", "/api/copilot/session", "/health", "/", "/rpc", "/wsx", "/api/v1x/operations"} {
		w := from(h, dashboard, "GET", path, "", "Authorization", "Bearer "+theToken)
		assert.Equal(t, http.StatusForbidden, w.Code, path)
		assert.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), path)
	}
	w := from(h, "", "GET", "/?token="+strings.ReplaceAll(theToken, " ", "+"), "")
	require.Equal(t, http.StatusSeeOther, w.Code)
	cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	assert.Equal(t, http.StatusOK, from(h, "", "GET", "/operations", "", "Cookie", cookie).Code)
	assert.Equal(t, http.StatusUnauthorized, from(h, dashboard, "GET", "/operations", "", "Cookie", cookie).Code, "cookies of other origins do not count")

	open := inside(t, func(c *server.Config) { c.AllowedOrigins = []string{dashboard} }).Handler(8888)
	assert.Equal(t, http.StatusForbidden, from(open, dashboard, "POST", "/auth/verify", "").Code, "without a token, everybody would get a session id")
}

func TestAllowedOriginsGenerateAToken(t *testing.T) {
	s := inside(t, func(c *server.Config) { c.AllowedOrigins = []string{dashboard} })
	serve(t, s)
	assert.Contains(t, s.URL(), "token=")
}

func TestInvalidOriginIsAFault(t *testing.T) {
	for _, origin := range []string{"*", "dashboard.example", "https://dashboard.example/", "ftp://a", "https://", "null"} {
		_, err := load(t, "allowed_origins: ['"+origin+"']", nil)
		require.ErrorContains(t, err, "allowed_origins: ", origin)
	}
	_, err := load(t, "allowed_origins: ['https://a.example:8443', 'http://localhost:3000']", nil)
	require.NoError(t, err)
}

// A page cannot read the status of a refused upgrade, but it can read a close code.
func TestRefusedSocketHasCloseCode(t *testing.T) {
	address := serve(t, inside(t, func(c *server.Config) { c.Token, c.AllowedOrigins = theToken, []string{dashboard} }))
	for origin, want := range map[string]int{"https://evil.example": 4403, dashboard: 4401} {
		dialer := websocket.Dialer{Subprotocols: []string{"portal.v1"}}
		conn, answer, err := dialer.DialContext(context.Background(), "ws://"+address+"/ws?operation_id=x", http.Header{"Origin": {origin}})
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		_, _, err = conn.ReadMessage()
		var closed *websocket.CloseError
		require.ErrorAs(t, err, &closed)
		assert.Equal(t, want, closed.Code, origin)
		require.NoError(t, conn.Close())

		_, answer, err = websocket.DefaultDialer.DialContext(context.Background(), "ws://"+address+"/ws?operation_id=x", http.Header{"Origin": {origin}})
		require.Error(t, err)
		assert.Equal(t, want-4000, answer.StatusCode)
		require.NoError(t, answer.Body.Close())
	}
}

// Whatever refuses a request to operations uses their format.
func TestEveryOperationErrorHasContractForm(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	for name, c := range map[string]struct {
		method, path string
		header       []string
		status       int
		code         string
	}{
		"an unknown path":             {"GET", "/operations/x/nothing", nil, 404, "NOT_FOUND"},
		"an unknown path of the API":  {"GET", "/api/v1/nothing", nil, 404, "NOT_FOUND"},
		"an unknown path of features": {"POST", "/features/x/build", nil, 404, "NOT_FOUND"},
		"below the socket":            {"GET", "/ws/x", nil, 404, "NOT_FOUND"},
		"a method of operations":      {"DELETE", "/operations/x", nil, 405, "METHOD_NOT_ALLOWED"},
		"a method of the socket":      {"POST", "/ws", nil, 405, "METHOD_NOT_ALLOWED"},
		"a method of verification":    {"PUT", "/api/v1/auth/verify", nil, 405, "METHOD_NOT_ALLOWED"},
		"a page of another origin":    {"GET", "/ws", []string{"Origin", "https://evil.example"}, 403, "DENIED"},
		"a host that is not allowed":  {"GET", "/operations", []string{"Host", "evil.example"}, 403, "DENIED"},
		"no session":                  {"GET", "/operations", nil, 401, "INVALID_SESSION"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, "http://localhost:8888"+c.path, nil)
			for i := 0; i+1 < len(c.header); i += 2 {
				if r.Header.Set(c.header[i], c.header[i+1]); c.header[i] == "Host" {
					r.Host = c.header[i+1]
				}
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			assert.Equal(t, c.status, w.Code)
			assert.Equal(t, c.code, code(t, w))
			assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		})
	}
}
