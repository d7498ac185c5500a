package ws_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fails expects an error in the form of spec/contracts/websocket.notes.md, "Where operations come from".
func (r reply) fails(tb testing.TB, status int, code string) {
	tb.Helper()
	assert.Equal(tb, status, r.status, r.text)
	body := r.json(tb)
	_, err := time.Parse(time.RFC3339, fmt.Sprint(body["timestamp"]))
	require.NoError(tb, err)
	fault, _ := body["error"].(map[string]any)
	assert.Equal(tb, code, fault["code"])
	assert.NotEmpty(tb, fault["message"])
	assert.NotEmpty(tb, fault["request_id"])
	assert.Equal(tb, []any{}, fault["details"])
	assert.Equal(tb, "no-store", r.header.Get("Cache-Control"))
	assert.Equal(tb, status == http.StatusUnauthorized, r.header.Get("WWW-Authenticate") != "")
}

func TestErrorsAreReportedInOrderBeforeUpgrade(t *testing.T) {
	virtually(t, func(set *settings) { set.api.Connections = 2 }, func(s *site) {
		id := s.startWith(3)
		full := s.visit()
		for range 2 {
			c := s.watch(id, "session_id", full)
			c.expect(-1, "Connected to operation "+id)
			defer c.Close()
			go func() { _, _, _ = c.drain() }()
		}
		for name, c := range map[string]struct {
			query  []string
			status int
			code   string
		}{
			"no session":                        {[]string{"session_id", "", "operation_id", id}, 401, "INVALID_SESSION"},
			"an unknown session":                {[]string{"session_id", strings.Repeat("x", 43), "operation_id", id}, 401, "INVALID_SESSION"},
			"everything wrong: the session":     {[]string{"session_id", "x", "operation_id", "x", "last_sequence", "x"}, 401, "INVALID_SESSION"},
			"no operation":                      {nil, 400, "INVALID_REQUEST"},
			"an unknown operation":              {[]string{"operation_id", "op_abc123"}, 404, "NOT_FOUND"},
			"two things wrong: the operation":   {[]string{"operation_id", "x", "last_sequence", "x"}, 404, "NOT_FOUND"},
			"a sequence that is not a number":   {[]string{"operation_id", id, "last_received_sequence", "x"}, 400, "INVALID_REQUEST"},
			"a sequence that is not an integer": {[]string{"operation_id", id, "last_received_sequence", "1.5"}, 400, "INVALID_REQUEST"},
			"an empty sequence":                 {[]string{"operation_id", id, "last_received_sequence", ""}, 400, "INVALID_REQUEST"},
			"a sequence below -1":               {[]string{"operation_id", id, "last_received_sequence", "-2"}, 400, "INVALID_REQUEST"},
			"a sequence below -1, short name":   {[]string{"operation_id", id, "last_sequence", "-2"}, 400, "INVALID_REQUEST"},
			"a huge sequence":                   {[]string{"operation_id", id, "last_sequence", strings.Repeat("9", 30)}, 400, "INVALID_REQUEST"},
			"too many, and a wrong sequence":    {[]string{"session_id", full, "operation_id", id, "last_sequence", "x"}, 400, "INVALID_REQUEST"},
			"too many connections":              {[]string{"session_id", full, "operation_id", id}, 429, "TOO_MANY"},
		} {
			path := s.path(c.query...)
			for _, prefix := range []string{"", "/api/v1"} {
				s.ask("GET", prefix+path, "", "X-Session-ID", "").fails(t, c.status, c.code)
				conn, answer := s.try(prefix+path, websocket.Dialer{Subprotocols: []string{"chat"}}, nil)
				require.Nil(t, conn, name)
				answer.fails(t, c.status, c.code)
			}
			conn, _ := s.try(path, websocket.Dialer{Subprotocols: []string{"chat", "portal.v1"}}, nil)
			require.NotNil(t, conn, name)
			assert.Equal(t, "portal.v1", conn.Subprotocol())
			all, code := conn.end()
			assert.Empty(t, all)
			assert.Equal(t, 4000+c.status, code, name)
		}
		r := s.ask("GET", s.path("operation_id", id), "")
		r.fails(t, http.StatusUpgradeRequired, "UPGRADE_REQUIRED")
		assert.Equal(t, "websocket", r.header.Get("Upgrade"))
		assert.Contains(t, s.ask("GET", s.path(), "").message(t), "operation_id is missing")
	})
}

// message returns the text of an error.
func (r reply) message(tb testing.TB) string {
	tb.Helper()
	fault, _ := r.json(tb)["error"].(map[string]any)
	text, _ := fault["message"].(string)
	return text
}

func TestConnectionSlotIsReleased(t *testing.T) {
	virtually(t, func(set *settings) { set.api.Connections = 1 }, func(s *site) {
		id := s.startWith(1)
		for range 3 {
			c := s.watch(id)
			c.expect(-1, "Connected to operation "+id, 0, "0")
			other := s.visit()
			o := s.watch(id, "session_id", other)
			o.expect(-1, "Connected to operation "+id, 0, "0")
			require.NoError(t, o.Close())
			require.NoError(t, c.Close())
			synctest.Wait()
		}
		assert.Zero(t, s.api.Connections())
	})
}

func TestSessionIDIsValidForADay(t *testing.T) {
	virtually(t, nil, func(s *site) {
		r := s.ask("GET", "/auth/verify", "")
		require.Equal(t, http.StatusOK, r.status)
		until, err := time.Parse(time.RFC3339, fmt.Sprint(r.json(t)["expires_at"]))
		require.NoError(t, err)
		assert.Equal(t, 24*time.Hour, time.Until(until))
		assert.Equal(t, "ada", r.json(t)["user"])
		time.Sleep(24*time.Hour - time.Second)
		assert.Equal(t, http.StatusOK, s.ask("GET", "/api/v1/auth/verify?session_id="+s.session, "", "X-Session-ID", "").status)
		time.Sleep(time.Second)
		r = s.ask("GET", "/auth/verify", "")
		assert.Equal(t, http.StatusUnauthorized, r.status)
		assert.Equal(t, false, r.json(t)["valid"])
		assert.NotEmpty(t, r.json(t)["error"])
	})
}

func TestLoggingOutClosesTheConnectionsOfTheSession(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startWith(1)
		other := s.visit()
		stays := s.watch(id, "session_id", other)
		stays.expect(-1, "Connected to operation "+id, 0, "0")
		codes := make(chan int, 2)
		for range 2 {
			c := s.watch(id)
			go func() { _, code := c.end(); codes <- code }()
		}
		stuck := s.watch(id) // does not read
		synctest.Wait()
		r := s.ask("POST", "/auth/logout", "")
		assert.Equal(t, http.StatusOK, r.status)
		assert.NotEmpty(t, r.json(t)["message"])
		assert.Equal(t, []int{4401, 4401}, []int{<-codes, <-codes})
		s.ask("GET", "/operations", "").fails(t, 401, "INVALID_SESSION")
		s.ask("POST", "/auth/logout", "").fails(t, 401, "INVALID_SESSION")
		s.actions <- say("1")
		stays.expect(1, "1")
		require.NoError(t, stays.Close())
		time.Sleep(2 * time.Minute)
		assert.Zero(t, s.api.Connections())
		require.NoError(t, stuck.Close())
	})
}

func TestSessionIDRequiresToken(t *testing.T) {
	virtually(t, func(set *settings) { set.token = "the secret" }, func(s *site) {
		for name, c := range map[string]struct {
			body   string
			header []string
			good   bool
		}{
			"nothing":                                {"", nil, false},
			"an empty body":                          {"{}", nil, false},
			"a wrong one":                            {`{"token": "the secre"}`, nil, false},
			"a wrong header":                         {"", []string{"Authorization", "Bearer x"}, false},
			"in the body":                            {`{"token": "the secret"}`, nil, true},
			"in the header":                          {`{"scopes": []}`, []string{"Authorization", "Bearer the secret"}, true},
			"wrong in the body, right in the header": {`{"token": "x"}`, []string{"Authorization", "Bearer the secret"}, false},
		} {
			r := s.ask("POST", "/auth/verify", c.body, c.header...)
			body := r.json(t)
			assert.Equal(t, c.good, body["valid"], name)
			if !c.good {
				assert.Equal(t, http.StatusUnauthorized, r.status)
				assert.NotEmpty(t, body["error"])
				assert.NotContains(t, r.text, "the secret")
				continue
			}
			assert.Equal(t, "the ", body["token_prefix"])
			assert.Equal(t, []any{"operations:read", "operations:write"}, body["scopes_granted"])
		}
		r := s.ask("POST", "/auth/verify", `{"token": "the secret", "scopes": ["operations:read"]}`)
		assert.Equal(t, []any{"operations:read"}, r.json(t)["scopes_granted"])
		s.ask("POST", "/auth/verify", `{"token": 5}`).fails(t, 400, "INVALID_REQUEST")
		s.ask("POST", "/auth/verify", strings.Repeat(" ", 65<<10)).fails(t, 400, "INVALID_REQUEST")
		s.ask("GET", "/operations", "", "Authorization", "Bearer x").fails(t, 401, "INVALID_SESSION")
		assert.Equal(t, http.StatusOK, s.ask("GET", "/operations", "", "Authorization", "Bearer the secret").status)
	})
}

func TestTokenCannotBeGuessed(t *testing.T) {
	virtually(t, func(set *settings) { set.token = "the secret" }, func(s *site) {
		for range 20 {
			assert.Equal(t, http.StatusUnauthorized, s.ask("POST", "/auth/verify", "").status, "a missing token is not a guess")
		}
		for range 10 {
			assert.Equal(t, http.StatusUnauthorized, s.ask("POST", "/auth/verify", `{"token": "x"}`).status)
		}
		r := s.ask("POST", "/auth/verify", `{"token": "x"}`)
		r.fails(t, 429, "TOO_MANY")
		assert.Equal(t, "6", r.header.Get("Retry-After"))
		s.ask("GET", "/operations", "", "Authorization", "Bearer x", "X-Session-ID", "y").fails(t, 429, "TOO_MANY")
		assert.Equal(t, http.StatusOK, s.ask("POST", "/auth/verify", `{"token": "the secret"}`).status, "the right one is never locked out")
		assert.Equal(t, http.StatusOK, s.ask("GET", "/operations", "", "Authorization", "Bearer the secret").status)
		time.Sleep(6 * time.Second)
		assert.Equal(t, http.StatusUnauthorized, s.ask("POST", "/auth/verify", `{"token": "x"}`).status)
		assert.Equal(t, http.StatusTooManyRequests, s.ask("POST", "/auth/verify", `{"token": "x"}`).status)
		time.Sleep(time.Minute)
		for range 10 {
			assert.Equal(t, http.StatusUnauthorized, s.ask("POST", "/auth/verify", `{"token": "x"}`).status)
		}
	})
}

func TestHandshakeAcceptsTokenInsteadOfSessionID(t *testing.T) {
	for name, c := range map[string]struct {
		token, header string
		status        int
	}{
		"the token":                                {"secret", "Bearer secret", 101},
		"another":                                  {"secret", "Bearer x", 401},
		"any, where none is configured":            {"", "Bearer ghp_xxxx", 101},
		"none, where none is configured":           {"", "Bearer ", 401},
		"another scheme, where none is configured": {"", "Basic abc", 401},
		"nothing, where one is configured":         {"secret", "", 401},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(set *settings) { set.token = c.token }, func(s *site) {
				o := s.startInside()
				conn, answer := s.try("/ws?operation_id="+o, websocket.Dialer{}, http.Header{"Authorization": {c.header}})
				assert.Equal(t, c.status, answer.status)
				if conn != nil {
					conn.expect(-1, "Connected to operation "+o)
					require.NoError(t, conn.Close())
				}
			})
		})
	}
}

func TestTokenHolderMayLogOut(t *testing.T) {
	virtually(t, func(set *settings) { set.token = "the secret" }, func(s *site) {
		assert.Equal(t, http.StatusOK, s.ask("POST", "/auth/logout", "", "Authorization", "Bearer the secret").status)
		assert.Equal(t, http.StatusOK, s.ask("GET", "/operations", "", "Authorization", "Bearer the secret").status, "there was nothing to end")
	})
}

func TestConnectionsAreRefusedDuringShutdown(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startWith(1)
		s.work.Close(context.Background())
		s.api.Close(context.Background())
		path := s.path("operation_id", id)
		s.ask("GET", path, "").fails(t, 503, "UNAVAILABLE")
		conn, answer := s.try(path, websocket.Dialer{}, nil)
		require.Nil(t, conn)
		answer.fails(t, 503, "UNAVAILABLE")
		conn, _ = s.try(path, websocket.Dialer{Subprotocols: []string{"portal.v1"}}, nil)
		require.NotNil(t, conn)
		_, code := conn.end()
		assert.Equal(t, 4503, code)
	})
}

func TestManySessionsMayConnect(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startInside()
		for range 100 {
			c := s.watch(id)
			go func() { _, _, _ = c.drain() }()
		}
		conn, answer := s.try(s.path("operation_id", id), websocket.Dialer{}, nil)
		assert.Nil(t, conn)
		assert.Equal(t, http.StatusTooManyRequests, answer.status)
		s.work.Close(context.Background())
		time.Sleep(3 * time.Second)
		assert.Zero(t, s.api.Connections())
	})
}
