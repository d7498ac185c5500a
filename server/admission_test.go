package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

// waiting opens n connections that have each sent half of a request head.
func waiting(t *testing.T, p *pipes, n int, address string) []net.Conn {
	t.Helper()
	all := make([]net.Conn, n)
	for i := range all {
		all[i] = p.dialFrom(address)
		write(t, all[i], "GET / HTTP/1.1\r\n")
	}
	return all
}

// open returns the number of open connections.
func open(conns []net.Conn) (n int) {
	synctest.Wait()
	for _, c := range conns {
		_ = c.SetReadDeadline(time.Now().Add(-time.Second))
		if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) {
			n++
		}
	}
	return n
}

// exchange sends a request and reads the response.
func exchange(t *testing.T, c net.Conn, request, body string) (int, string) {
	t.Helper()
	if body != "" {
		request += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	write(t, c, request+"\r\n"+body)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

var apiTest = head([2]string{"GET", "/api/test"}, authorization)

func TestWaitingConnectionsYieldToTokenHolder(t *testing.T) {
	for name, tc := range map[string]struct {
		waiting int
		age     time.Duration
		left    int
	}{
		"few old ones":                 {10, time.Second, 9}, // the new connection exceeds the limit by one
		"many old ones":                {30, time.Second, 9},
		"many new ones, as in a burst": {30, 0, 30},
		"more new ones than the limit": {60, 0, 39},
	} {
		t.Run(name, func(t *testing.T) {
			limit := func(s *server.Server) { s.SetLimits(500*time.Millisecond, 10, 40, 1000) }
			onPipesWith(t, withToken, limit, func(t *testing.T, _ *server.Server, p *pipes) {
				t.Helper()
				others := waiting(t, p, tc.waiting, "192.0.2.1")
				time.Sleep(tc.age)
				c := p.dialFrom("192.0.2.1")
				status, _ := exchange(t, c, apiTest, "")
				assert.Equal(t, http.StatusOK, status)
				assert.Equal(t, tc.left, open(others))
				_ = c.Close()
			})
		})
	}
}

func TestOneAddressCannotUseAllConnections(t *testing.T) {
	limit := func(s *server.Server) { s.SetLimits(time.Hour, 10, 20, 40) }
	onPipesWith(t, withToken, limit, func(t *testing.T, _ *server.Server, p *pipes) {
		t.Helper()
		one := waiting(t, p, 3, "192.0.2.1")
		var others []net.Conn
		for i := range 60 { // one IPv6 network counts as one address
			others = append(others, waiting(t, p, 1, fmt.Sprintf("2001:db8::%x", i+1))...)
			others = append(others, waiting(t, p, 1, fmt.Sprintf("192.0.2.%d", 10+i%3))...)
		}
		assert.Equal(t, 3, open(one), "the address with the most connections loses some")
		assert.Equal(t, 37, open(others))
		c := p.dialFrom("192.0.2.1")
		status, _ := exchange(t, c, apiTest, "")
		assert.Equal(t, http.StatusOK, status)
		_ = c.Close()
	})
}

func TestAuthenticatedConnectionsAreNotEvicted(t *testing.T) {
	limit := func(s *server.Server) { s.SetLimits(0, 5, 10, 20) }
	onPipesWith(t, withToken, limit, func(t *testing.T, _ *server.Server, p *pipes) {
		t.Helper()
		c := p.dial()
		status, answer := exchange(t, c, head([2]string{"POST", "/auth/verify"}), `{"token":"`+token+`"}`)
		require.Equal(t, http.StatusOK, status, answer)
		var verified struct {
			ID string `json:"session_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &verified))

		requests := map[string]string{
			"the token":    apiTest,
			"a session id": head([2]string{"GET", "/operations"}, "X-Session-ID: "+verified.ID),
		}
		conns := map[string]net.Conn{}
		for name, request := range requests {
			for i := range 20 { // also many of one address
				conns[fmt.Sprint(name, i)] = p.dial()
				status, answer := exchange(t, conns[fmt.Sprint(name, i)], request, "")
				require.Equal(t, http.StatusOK, status, answer)
			}
		}
		_ = waiting(t, p, 50, "192.0.2.1")
		for name, request := range requests {
			for i := range 20 {
				status, _ := exchange(t, conns[fmt.Sprint(name, i)], request, "")
				assert.Equal(t, http.StatusOK, status, name)
				_ = conns[fmt.Sprint(name, i)].Close()
			}
		}
		_ = c.Close()
	})
}

// exhausted is a listener whose first calls fail for lack of file descriptors.
type exhausted struct {
	*pipes
	mu    sync.Mutex
	fails int
}

func (e *exhausted) Accept() (net.Conn, error) {
	e.mu.Lock()
	e.fails--
	fails := e.fails >= 0
	e.mu.Unlock()
	if fails {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return e.pipes.Accept()
}

func TestExhaustedFileDescriptorsWarnOnceAndCloseOldConnections(t *testing.T) {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s, l := logging(t, &out), &exhausted{pipes: newPipes()}
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { ended <- s.ServeOn(ctx, l) }()
		old := waiting(t, l.pipes, 5, "192.0.2.1")
		time.Sleep(5 * time.Second)
		l.mu.Lock()
		l.fails = 100
		l.mu.Unlock()
		c := l.dial() // unblocks the current Accept
		time.Sleep(3 * time.Second)
		assert.Zero(t, open(old), "before the time limit of a head")
		time.Sleep(2 * time.Minute)
		assert.Equal(t, 1, strings.Count(out.String(), "level=WARN"), out.String())
		assert.Contains(t, out.String(), "out of file descriptors")
		_ = c.Close()
		cancel()
		require.NoError(t, <-ended)
		time.Sleep(time.Minute)
	})
}

// A low limit of open files makes it easy to exhaust the connections.
func TestSlowClientsDoNotLockOutTokenHolder(t *testing.T) {
	address := limitedPortal(t, 200)
	var all []net.Conn
	for i := range 260 {
		c, err := net.DialTimeout("tcp", address, soon)
		require.NoError(t, err)
		defer c.Close()
		all = append(all, c)
		_, _ = io.WriteString(c, []string{
			"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{", "GET / HTTP/1.1\r\n", "",
			"POST /auth/verify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
		}[i%4])
	}
	for range 5 {
		begin := testclock.Now()
		r := send(t, address, apiTest+"\r\n")
		assert.Equal(t, http.StatusOK, r.status)
		assert.Less(t, begin.Elapsed(), 5*time.Second)
	}
	assert.Len(t, all, 260)
}

// limitedPortal starts a portal with a token and a limit of open files.
func limitedPortal(t *testing.T, files int) (address string) {
	t.Helper()
	script := fmt.Sprintf(`ulimit -n %d && exec "$0" --port 0 --debug --ephemeral --token %q`, files, token)
	command := exec.CommandContext(t.Context(), "sh", "-c", script, portaltest.Binary(t))
	command.Env = portaltest.Environ(t.TempDir())
	command.WaitDelay = soon
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	port, ok := strings.CutPrefix(strings.TrimSpace(line), "SIDECAR_PORT=")
	require.True(t, ok, line)
	return "127.0.0.1:" + port
}

// logging returns a portal that logs to out.
func logging(t *testing.T, out io.Writer) *server.Server {
	t.Helper()
	c, err := server.Load(server.Sources{Flags: flags(t), Environ: []string{"HOME=" + t.TempDir()}})
	require.NoError(t, err)
	c.CopilotPath, c.Ephemeral, c.Token = noAgent, true, token
	return server.New(t.Context(), c, "test", slog.New(slog.NewTextHandler(out, nil)))
}
