package ws_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

// visitWith returns a new session id with scopes, given as JSON.
func (s *site) visitWith(scopes string) string {
	s.tb.Helper()
	r := s.ask("POST", "/auth/verify", `{"scopes": `+scopes+`}`)
	require.Equal(s.tb, http.StatusOK, r.status, r.text)
	id, _ := r.json(s.tb)["session_id"].(string)
	return id
}

func TestScopesAreEnforced(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startInside()
		reads, writes := s.visitWith(`["operations:read"]`), s.visitWith(`["operations:write"]`)
		assert.Equal(t, []any{"operations:read"}, s.ask("GET", "/auth/verify", "", "X-Session-ID", reads).json(t)["scopes_granted"])
		for path, method := range map[string]string{
			"/operations": "POST", "/features/a/clarify": "POST", "/features/a/analyze": "POST", "/features/a/plan": "POST",
			"/operations/" + id + "/cancel": "POST", "/operations/" + id + "/answer/q": "POST",
		} {
			r := s.ask(method, path, `{"type": "prompt", "prompt": "x"}`, "X-Session-ID", reads)
			r.fails(t, http.StatusForbidden, "DENIED")
			assert.Contains(t, r.message(t), "operations:write", path)
		}
		for _, path := range []string{"/operations", "/operations/" + id, "/operations/" + id + "/messages", s.path("operation_id", id, "session_id", writes)} {
			r := s.ask("GET", path, "", "X-Session-ID", writes)
			r.fails(t, http.StatusForbidden, "DENIED")
			assert.Contains(t, r.message(t), "operations:read", path)
		}
		conn, _ := s.try(s.path("operation_id", id, "session_id", writes), websocket.Dialer{Subprotocols: []string{"portal.v1"}}, nil)
		require.NotNil(t, conn)
		_, code := conn.end()
		assert.Equal(t, 4403, code)
		assert.Equal(t, http.StatusOK, s.ask("GET", "/operations/"+id, "", "X-Session-ID", reads).status)
		assert.Equal(t, http.StatusOK, s.ask("POST", "/operations/"+id+"/cancel", "", "X-Session-ID", writes).status)
	})
}

func TestUnknownScopesAreRejected(t *testing.T) {
	virtually(t, nil, func(s *site) {
		r := s.ask("POST", "/auth/verify", `{"scopes": ["operations:read", "<img src=x>"]}`)
		r.fails(t, http.StatusBadRequest, "INVALID_REQUEST")
		assert.Equal(t, `scopes: "\u003cimg src=x\u003e" is not a scope; there is operations:read and operations:write`, r.message(t))
	})
}

func TestScopesOfSessionIDSurviveRestart(t *testing.T) {
	directory := t.TempDir()
	var id string
	for _, first := range []bool{true, false} {
		st, err := store.Open(t.Context(), store.Options{Directory: directory})
		require.NoError(t, err)
		s := really(t, func(set *settings) { set.api.Store = st })
		if first {
			id = s.visitWith(`["operations:read"]`)
		}
		s.ask("POST", "/operations", `{"type": "prompt", "prompt": "x"}`, "X-Session-ID", id).fails(t, http.StatusForbidden, "DENIED")
		assert.Equal(t, http.StatusOK, s.ask("GET", "/operations", "", "X-Session-ID", id).status)
		s.shut()
		require.NoError(t, st.Close())
	}
}

// behindNode is a node of a cluster that cannot catch up with the others.
type behindNode struct{ store.Cluster }

var errBehind = errors.New("the log cannot be reached")

func (behindNode) Written(...string)                           {}
func (behindNode) Await(context.Context, string, uint64) error { return errBehind }
func (behindNode) CatchUp(context.Context) error               { return errBehind }

func TestSessionIDThatCannotBeCheckedIsNotInvalid(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Directory: t.TempDir(), Cluster: behindNode{}})
	require.NoError(t, err)
	s := really(t, func(set *settings) { set.api.Store = st })
	id := base64.RawURLEncoding.EncodeToString(make([]byte, 32)) // another node may have admitted it
	s.ask("GET", "/operations", "", "X-Session-ID", id).fails(t, http.StatusServiceUnavailable, "UNAVAILABLE")
	s.ask("GET", "/auth/verify", "", "X-Session-ID", id).fails(t, http.StatusServiceUnavailable, "UNAVAILABLE")
	s.shut()
	require.NoError(t, st.Close())
}

func TestUnstoredSessionIDWorksFromMemory(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Directory: t.TempDir(), MaxBytes: 1 << 19})
	require.NoError(t, err)
	user := strings.Repeat("x", 1<<15) // more than the free part of any page holds
	for err == nil {
		err = st.Admit(t.Context(), []byte(rand.Text()), store.Visitor{User: user, Until: time.Now().Add(time.Hour)})
	}
	require.ErrorContains(t, err, "no space left")
	s := really(t, func(set *settings) { set.api.Store, set.api.User = st, func() string { return user } })
	id := s.visitWith(`["operations:read"]`)
	assert.Contains(t, s.ask("POST", "/auth/verify", "").json(t)["message"], "ends with the portal: there is no space left")
	assert.Equal(t, http.StatusOK, s.ask("GET", "/operations", "", "X-Session-ID", id).status)
	s.ask("POST", "/operations", `{"type": "prompt", "prompt": "x"}`, "X-Session-ID", id).fails(t, http.StatusForbidden, "DENIED")
	assert.Equal(t, http.StatusOK, s.ask("POST", "/auth/logout", "", "X-Session-ID", id).status)
	s.ask("GET", "/operations", "", "X-Session-ID", id).fails(t, http.StatusUnauthorized, "INVALID_SESSION")
	s.shut()
	require.NoError(t, st.Close())
}
