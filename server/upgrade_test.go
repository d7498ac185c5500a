package server_test

import (
	"bufio"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

func TestRefusedUpgradeClosesItsConnection(t *testing.T) {
	const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	for name, tc := range map[string]struct {
		path, header string
		status       int
	}{
		"no session":                     {"/ws", upgrade, 401},
		"an unknown session":             {"/ws?session_id=x", upgrade, 401},
		"an unknown operation":           {"/ws?operation_id=none", upgrade + authorization + "\r\n", 404},
		"another page":                   {"/ui", upgrade + authorization + "\r\nOrigin: http://evil.example\r\n", 403},
		"no token":                       {"/ui", upgrade, 401},
		"another version":                {"/ui", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n" + authorization + "\r\n", 400},
		"no key":                         {"/rpc", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" + authorization + "\r\n", 400},
		"a path without a WebSocket":     {"/api/test", upgrade + authorization + "\r\n", 200},
		"an unknown path":                {"/api/nothing", upgrade + authorization + "\r\n", 404},
		"an unknown session of a stream": {"/stream/x", upgrade + authorization + "\r\n", 404},
	} {
		t.Run(name, func(t *testing.T) {
			onPipes(t, withToken, func(t *testing.T, _ *server.Server, p *pipes) {
				t.Helper()
				c := p.dial()
				write(t, c, head([2]string{"GET", tc.path})+tc.header+"\r\n")
				begin, reader := time.Now(), bufio.NewReader(c)
				resp, err := http.ReadResponse(reader, nil)
				require.NoError(t, err)
				defer resp.Body.Close()
				text, _ := io.ReadAll(resp.Body)
				assert.Equal(t, tc.status, resp.StatusCode, "%s", text)
				assert.True(t, resp.Close, "the response announces it")
				_, err = reader.ReadByte()
				require.ErrorIs(t, err, io.EOF)
				assert.Zero(t, time.Since(begin))
			})
		})
	}
}

func TestUpgradeIsCountedAs101(t *testing.T) {
	onPipes(t, withToken, func(t *testing.T, _ *server.Server, p *pipes) {
		t.Helper()
		for path, header := range sockets() {
			c := p.dial()
			write(t, c, head([2]string{"GET", path})+header+"\r\n")
			answer := readHead(t, c)
			require.Contains(t, answer, " 101 ", path)
			require.NotContains(t, answer, "Connection: close", path)
			_ = c.Close()
		}
		c := p.dial()
		write(t, c, head([2]string{"GET", "/ws?operation_id=none"})+sockets()["/ui"]+"\r\n") // refused, because there is no such operation
		require.Contains(t, readHead(t, c), " 404 ")
		_ = c.Close()
		time.Sleep(time.Minute)

		c = p.dial()
		status, text := exchange(t, c, head([2]string{"GET", "/metrics"}, authorization), "")
		require.Equal(t, http.StatusOK, status)
		for _, line := range []string{
			`portal_http_requests_total{method="GET",route="/rpc",status="101"} 1`,
			`portal_http_requests_total{method="GET",route="/ui",status="101"} 1`,
			`portal_http_requests_total{method="GET",route="/ws",status="101"} 2`,
			`portal_http_requests_total{method="GET",route="/ws",status="404"} 1`,
			`portal_http_requests_total{method="GET",route="/api/v1/ws",status="101"} 1`,
		} {
			assert.Contains(t, text, line)
		}
		assert.NotContains(t, text, `route="/ws",status="200"`)
		_ = c.Close()
	})
}
