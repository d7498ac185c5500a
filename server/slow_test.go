package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

// pipes is a listener with unbuffered connections: a write waits until the other end reads. It works with synctest.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	end    func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.end = func() { close(p.closed) }
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		p.end()
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// dial returns a new connection of a client.
func (p *pipes) dial() net.Conn { return p.dialFrom("192.0.2.1") }

func (p *pipes) dialFrom(address string) net.Conn {
	client, served := net.Pipe()
	p.conns <- addressed{served, &net.TCPAddr{IP: net.ParseIP(address), Port: 1}}
	return client
}

// addressed is a connection whose client has a fixed address.
type addressed struct {
	net.Conn
	remote net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.remote }

// onPipes calls do with a portal in a synctest bubble.
func onPipes(t *testing.T, change func(*server.Config), do func(t *testing.T, s *server.Server, p *pipes)) {
	t.Helper()
	onPipesWith(t, change, func(*server.Server) {}, do)
}

// onPipesWith is like onPipes, with other limits.
func onPipesWith(t *testing.T, change func(*server.Config), limit func(*server.Server), do func(t *testing.T, s *server.Server, p *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, p := inside(t, change), newPipes()
		limit(s)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- s.ServeOn(ctx, p) }()
		synctest.Wait()
		defer func() { // even if the test fails
			cancel()
			assert.NoError(t, <-ended) //nolint:testifylint // clients need time to notice in any case
			time.Sleep(time.Minute)    // clients notice
		}()
		do(t, s, p)
	})
}

// closedAfter reads until the portal closes a connection and returns the time that this took, at most an hour.
func closedAfter(c net.Conn) (answer string, took time.Duration) {
	begin := time.Now()
	_ = c.SetReadDeadline(begin.Add(time.Hour)) // a failing test must end
	text, _ := io.ReadAll(c)
	_ = c.Close()
	return string(text), time.Since(begin)
}

// readHead reads the head of a response and nothing after it.
func readHead(t *testing.T, c net.Conn) string {
	t.Helper()
	var text []byte
	for one := make([]byte, 1); !strings.HasSuffix(string(text), "\r\n\r\n"); text = append(text, one...) {
		_, err := io.ReadFull(c, one)
		require.NoError(t, err, "after %q", text)
	}
	return string(text)
}

func withToken(c *server.Config) { c.Token = token }

// head returns the beginning of a request with its host and further headers.
func head(route [2]string, header ...string) string {
	return route[0] + " " + route[1] + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(header, "\r\n") + strings.Repeat("\r\n", min(1, len(header)))
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
}

const authorization = "Authorization: Bearer " + token

func TestSlowHeadsTimeOutOnEveryRoute(t *testing.T) {
	onPipes(t, withToken, func(t *testing.T, s *server.Server, p *pipes) {
		t.Helper()
		for _, route := range everyRoute(s.Handler(8888)) {
			c := p.dial()
			write(t, c, head(route, authorization)+"X-Slow: ")
			go func() {
				for { // a byte a second
					if _, err := io.WriteString(c, "x"); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
			_, took := closedAfter(c)
			assert.Equal(t, s.ClientLimits().Header, took, "%v", route)
		}
		c := p.dial()
		_, took := closedAfter(c)
		assert.Equal(t, s.ClientLimits().Header, took, "a client that sends nothing")
		write(t, p.dial(), "GET / HTTP/1.1\r\n") // stays open until the portal ends
	})
}

func TestRequestWithoutTokenIsAnsweredAtOnceAndClosed(t *testing.T) {
	onPipes(t, withToken, func(t *testing.T, s *server.Server, p *pipes) {
		t.Helper()
		for _, route := range everyRoute(s.Handler(8888)) {
			if route[1] == "/auth/verify" || route[1] == "/api/v1/auth/verify" {
				continue // takes the token in its body; it has its own test
			}
			for name, rest := range map[string]string{
				"no body":           "\r\n",
				"a slow body":       "Content-Length: 1000\r\n\r\n{",
				"slow chunks":       "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
				"an announced body": "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
			} {
				c := p.dial()
				write(t, c, head(route)+rest)
				begin := time.Now()
				reader := bufio.NewReader(c)
				resp, err := http.ReadResponse(reader, &http.Request{Method: route[0]})
				require.NoError(t, err, "%v, %s", route, name)
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				assert.Equal(t, http.StatusUnauthorized, resp.StatusCode, "%v, %s", route, name)
				assert.Zero(t, time.Since(begin), "%v, %s", route, name)
				_, err = reader.ReadByte()
				require.ErrorIs(t, err, io.EOF)
				assert.LessOrEqual(t, time.Since(begin), s.ClientLimits().Linger, "%v, %s", route, name)
			}
		}
	})
}

func TestSlowBodiesTimeOutOnEveryRoute(t *testing.T) {
	for name, tc := range map[string]struct {
		every time.Duration
		most  func(server.ClientLimits) time.Duration
	}{
		"one byte":          {0, func(l server.ClientLimits) time.Duration { return l.Stall + l.Discard + l.Linger }},
		"a byte per second": {time.Second, func(l server.ClientLimits) time.Duration { return l.Body + l.Discard + l.Linger }},
	} {
		t.Run(name, func(t *testing.T) {
			onPipes(t, withToken, func(t *testing.T, s *server.Server, p *pipes) {
				t.Helper()
				for _, route := range everyRoute(s.Handler(8888)) {
					if strings.HasSuffix(route[1], "/stop") && len(route[1]) < len("/api/copilot") {
						continue // stops the portal
					}
					for _, header := range []string{authorization, "X-Session-ID: none"} {
						c := p.dial()
						write(t, c, head(route, header)+"Content-Length: 1000\r\n\r\n{")
						go func() {
							for tc.every > 0 {
								time.Sleep(tc.every)
								if _, err := io.WriteString(c, " "); err != nil {
									return
								}
							}
						}()
						answer, took := closedAfter(c)
						assert.LessOrEqual(t, took, tc.most(s.ClientLimits()), "%v, %s", route, header)
						assert.Contains(t, answer, "HTTP/1.1 ", "%v, %s", route, header)
					}
				}
			})
		})
	}
}

func TestClientsThatNeverReadTimeOutOnEveryRoute(t *testing.T) {
	onPipes(t, withToken, func(t *testing.T, s *server.Server, p *pipes) {
		t.Helper()
		operation := "/operations/" + startOperation(t, p)
		for _, route := range append(everyRoute(s.Handler(8888)), [2]string{"GET", operation}, [2]string{"GET", operation + "/messages"}) {
			if strings.HasSuffix(route[1], "/stop") && len(route[1]) < len("/api/copilot") {
				continue // stops the portal
			}
			for _, header := range []string{authorization, "X-Session-ID: none"} {
				c := p.dial()
				write(t, c, head(route, header)+"\r\n")
				time.Sleep(s.ClientLimits().Write + 10*time.Second) // a long poll waits first
				answer, took := closedAfter(c)
				assert.Empty(t, answer, "%v, %s", route, header)
				assert.Zero(t, took, "%v, %s", route, header)
			}
		}
	})
}

// startOperation starts an operation, which fails at once because there is no agent.
func startOperation(t *testing.T, p *pipes) (id string) {
	t.Helper()
	c, body := p.dial(), `{"type": "prompt", "prompt": "x"}`
	defer c.Close()
	write(t, c, head([2]string{"POST", "/operations"}, authorization)+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))+body)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
	var started struct {
		ID string `json:"operation_id"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&started))
	return started.ID
}

func TestOperationClientThatNeverReadsTimesOut(t *testing.T) {
	onPipes(t, withToken, func(t *testing.T, _ *server.Server, p *pipes) {
		t.Helper()
		path := "/ws?operation_id=" + startOperation(t, p)
		for _, reads := range []bool{false, true} {
			c := p.dial()
			write(t, c, head([2]string{"GET", path})+sockets()["/api/v1/ws"]+"\r\n")
			if reads {
				require.Contains(t, readHead(t, c), "HTTP/1.1 101", "and the messages of the operation follow")
			}
			time.Sleep(2 * time.Minute)
			answer, took := closedAfter(c)
			assert.Empty(t, answer, "it reads the head: %t", reads)
			assert.Zero(t, took, "it reads the head: %t", reads)
		}
		c := p.dial()
		write(t, c, head([2]string{"GET", path})+sockets()["/api/v1/ws"]+"\r\n")
		answer, _ := closedAfter(c)
		assert.Contains(t, answer, "Connected to operation", "a client that reads is notified")
	})
}

// sockets returns the paths of WebSockets with the headers that open them.
func sockets() map[string]string {
	const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	return map[string]string{
		"/rpc":              upgrade + authorization + "\r\n",
		"/ui":               upgrade + authorization + "\r\n",
		"/ws":               upgrade + "Sec-WebSocket-Protocol: portal.v1\r\n",
		"/ws?session_id=no": upgrade + "Sec-WebSocket-Protocol: portal.v1\r\n",
		"/api/v1/ws":        upgrade + "Sec-WebSocket-Protocol: portal.v1\r\n" + authorization + "\r\n",
	}
}

func TestSlowWebSocketClientsTimeOut(t *testing.T) {
	const frame = "\x81\xfe\x10\x00mask" // of 4 KiB, without its content
	onPipes(t, withToken, func(t *testing.T, _ *server.Server, p *pipes) {
		t.Helper()
		for path, header := range sockets() {
			for name, slow := range map[string]func(net.Conn){
				"a client that sends nothing": func(net.Conn) {},
				"an incomplete frame":         func(c net.Conn) { _, _ = io.WriteString(c, frame) },
				"half of the head of a frame": func(c net.Conn) { _, _ = io.WriteString(c, frame[:1]) },
			} {
				c := p.dial()
				write(t, c, head([2]string{"GET", path})+header+"\r\n")
				assert.Contains(t, readHead(t, c), "HTTP/1.1 101", "%s: %s", path, name)
				go slow(c)
				_, took := closedAfter(c)
				assert.LessOrEqual(t, took, time.Minute, "%s: %s", path, name)
			}
			c := p.dial()
			write(t, c, head([2]string{"GET", path})+header+"\r\n")
			time.Sleep(time.Minute)
			answer, took := closedAfter(c)
			assert.Empty(t, answer, "%s: a client that never reads", path)
			assert.Zero(t, took, path)
		}
	})
}

func TestSlowVerificationTimesOut(t *testing.T) {
	onPipes(t, withToken, func(t *testing.T, s *server.Server, p *pipes) {
		t.Helper()
		c := p.dial()
		write(t, c, head([2]string{"POST", "/auth/verify"}, "Content-Length: 1000")+"\r\n{")
		answer, took := closedAfter(c)
		assert.Contains(t, answer, "400 Bad Request")
		assert.Contains(t, answer, "did not arrive in time")
		assert.LessOrEqual(t, took, s.ClientLimits().Stall+s.ClientLimits().Discard+s.ClientLimits().Linger)
	})
}

func TestStreamsAndLongPollsOutlastAllLimits(t *testing.T) {
	for name, last := range map[string]func(*testing.T, *server.Server, net.Conn){
		"a socket whose client answers pings": keepSocket, "a stream of events": keepStream, "one long poll after another": keepPolling,
	} {
		t.Run(name, func(t *testing.T) {
			short := func(s *server.Server) {
				const short = time.Second
				s.SetClientLimits(server.ClientLimits{
					Header: short, Idle: short, Stall: short, Body: short, Discard: short, Write: short, Linger: short, Patience: short,
				})
			}
			onPipesWith(t, withToken, short, func(t *testing.T, s *server.Server, p *pipes) {
				t.Helper()
				c := p.dial()
				last(t, s, c)
				_ = c.Close()
			})
		})
	}
}

// keepSocket keeps a WebSocket open for an hour.
func keepSocket(t *testing.T, _ *server.Server, c net.Conn) {
	t.Helper()
	write(t, c, head([2]string{"GET", "/ui"})+sockets()["/ui"]+"\r\n")
	reader := bufio.NewReader(c)
	resp, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	for begin := time.Now(); time.Since(begin) < time.Hour; {
		head := make([]byte, 2)
		_, err := io.ReadFull(reader, head)
		require.NoError(t, err, "after %v", time.Since(begin))
		_, err = io.CopyN(io.Discard, reader, int64(head[1]&0x7f))
		require.NoError(t, err)
		if head[0] == 0x89 {
			write(t, c, "\x8a\x80mask") // pong
		}
	}
}

// keepStream reads the events of an idle session for an hour.
func keepStream(t *testing.T, s *server.Server, c net.Conn) {
	t.Helper()
	id, err := s.StartSession(t.Context())
	require.NoError(t, err)
	write(t, c, head([2]string{"GET", "/stream/" + id}, authorization)+"\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	defer c.Close() // before closing the body, which would read it to its end
	require.Equal(t, http.StatusOK, resp.StatusCode)
	lines, begin := bufio.NewReader(resp.Body), time.Now()
	for time.Since(begin) < time.Hour {
		_, err := lines.ReadString('\n')
		require.NoError(t, err, "after %v", time.Since(begin))
	}
}

// keepPolling polls a session for an hour over one connection.
func keepPolling(t *testing.T, s *server.Server, c net.Conn) {
	t.Helper()
	id, err := s.StartSession(t.Context())
	require.NoError(t, err)
	reader, begin := bufio.NewReader(c), time.Now()
	for time.Since(begin) < time.Hour {
		write(t, c, head([2]string{"GET", "/api/copilot/session/" + id + "/live"}, authorization)+"\r\n")
		asked := time.Now()
		resp, err := http.ReadResponse(reader, nil)
		require.NoError(t, err, "after %v", time.Since(begin))
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		_ = resp.Body.Close()
		require.JSONEq(t, `{"error":"HttpRequestTimeout"}`, string(body))
		require.Equal(t, 5*time.Second, time.Since(asked))
	}
}
