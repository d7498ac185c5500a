package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

func dial(t *testing.T, url string, header http.Header) (*websocket.Conn, int) {
	t.Helper()
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws://"+strings.TrimPrefix(url, "http://")+"/rpc", header)
	if resp == nil {
		require.NoError(t, err)
	}
	_ = resp.Body.Close()
	return conn, resp.StatusCode
}

func TestASocketIsGuardedAsEveryRequest(t *testing.T) {
	url := serve(t, inside(t, func(c *server.Config) { c.Token = "secret" }))
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"without the token":        {http.Header{}, http.StatusUnauthorized},
		"from another site":        {http.Header{"Authorization": {"Bearer secret"}, "Origin": {"https://evil.example"}}, http.StatusForbidden},
		"from a page of its own":   {http.Header{"Authorization": {"Bearer secret"}, "Origin": {"http://" + strings.TrimPrefix(url, "http://")}}, http.StatusSwitchingProtocols},
		"from a program":           {http.Header{"Authorization": {"Bearer secret"}}, http.StatusSwitchingProtocols},
		"by another name for here": {http.Header{"Authorization": {"Bearer secret"}, "Host": {"evil.example"}}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			conn, status := dial(t, url, c.header)
			assert.Equal(t, c.status, status)
			if conn != nil {
				_ = conn.Close()
			}
		})
	}
}

func wantsWebSockets(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	status, answer := p.Do("GET", "/rpc", "")
	assert.Equal(t, http.StatusUpgradeRequired, status)
	assert.Contains(t, answer, `"error"`)
}

func TestAPortalWithOpenSocketsStopsAtOnce(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{})
	for range 20 {
		conn, status := dial(t, p.URL, nil)
		require.Equal(t, http.StatusSwitchingProtocols, status)
		go func() { // as clients do, it reads until it is told
			for {
				if _, _, err := conn.ReadMessage(); err != nil {
					_ = conn.Close()
					return
				}
			}
		}()
	}
	began := time.Now()
	p.Stop()
	assert.Less(t, time.Since(began), 2*time.Second)
}
