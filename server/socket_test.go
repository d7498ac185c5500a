package server_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/rpc"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// dial opens a WebSocket, whose messages must fit the contract of the path; nil if it is refused.
func dial(t *testing.T, url, path string, header http.Header) (*contract.Socket, int) {
	t.Helper()
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws://"+strings.TrimPrefix(url, "http://")+path, header)
	if resp == nil {
		require.NoError(t, err)
	}
	_ = resp.Body.Close()
	if conn == nil {
		return nil, resp.StatusCode
	}
	return contract.NewSocket(t, conn, path), resp.StatusCode
}

func TestWebSocketsAreGuarded(t *testing.T) {
	url := serve(t, inside(t, func(c *server.Config) { c.Token = "secret" }))
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"without the token":      {http.Header{}, http.StatusUnauthorized},
		"from another site":      {http.Header{"Authorization": {"Bearer secret"}, "Origin": {"https://evil.example"}}, http.StatusForbidden},
		"from the portal's page": {http.Header{"Authorization": {"Bearer secret"}, "Origin": {"http://" + strings.TrimPrefix(url, "http://")}}, http.StatusSwitchingProtocols},
		"from a program":         {http.Header{"Authorization": {"Bearer secret"}}, http.StatusSwitchingProtocols},
		"with another host name": {http.Header{"Authorization": {"Bearer secret"}, "Host": {"evil.example"}}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/rpc", "/ui"} {
				conn, status := dial(t, url, path, c.header)
				assert.Equal(t, c.status, status, path)
				if conn != nil {
					_ = conn.Close()
				}
			}
		})
	}
}

func wantsWebSockets(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	for path, want := range map[string]int{"/rpc": http.StatusUpgradeRequired, "/ui": http.StatusUpgradeRequired, "/ui/": http.StatusNotFound, "/ui/x": http.StatusNotFound} {
		status, answer := p.Do("GET", path, "")
		assert.Equal(t, want, status, path)
		assert.Contains(t, answer, `"error"`)
	}
}

func TestMessageLimitDependsOnTheDialect(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	for path, most := range map[string]int{"/rpc": rpc.MaxMessage, "/ui": ui.MaxMessage} {
		conn, status := dial(t, p.URL, path, nil)
		require.Equal(t, http.StatusSwitchingProtocols, status)
		defer conn.Close()
		spaces := bytes.Repeat([]byte(" "), most+1)
		copy(spaces, `{"jsonrpc":"2.0","id":1,"method":"nothing"}`)
		require.NoError(t, writeLarge(conn.Conn, spaces[:most]))
		_, answer, err := conn.ReadMessage()
		require.NoError(t, err, path)
		assert.Contains(t, string(answer), "-32601")
		_ = writeLarge(conn.Conn, spaces) // the portal may close it before the end
		_, _, err = conn.ReadMessage()
		assert.True(t, websocket.IsCloseError(err, websocket.CloseMessageTooBig), "%s: %v", path, err)
	}
}

// writeLarge writes a text message with a mask of zeros, which leaves it as it is: masking takes seconds under the race detector.
func writeLarge(conn *websocket.Conn, message []byte) error {
	const final, text, masked, long = 0x80, 0x1, 0x80, 127
	head := binary.BigEndian.AppendUint64([]byte{final | text, masked | long}, uint64(len(message)))
	buffers := net.Buffers{append(head, 0, 0, 0, 0), message}
	_, err := buffers.WriteTo(conn.NetConn())
	return err
}

// opensWebSockets opens WebSockets whose clients read until the close frame.
func opensWebSockets(t *testing.T, p *portaltest.Portal, count int) {
	t.Helper()
	for n := range count {
		conn, status := dial(t, p.URL, []string{"/rpc", "/ui"}[n%2], nil)
		require.Equal(t, http.StatusSwitchingProtocols, status)
		go func() {
			for {
				if _, _, err := conn.ReadMessage(); err != nil {
					_ = conn.Close()
					return
				}
			}
		}()
	}
}
