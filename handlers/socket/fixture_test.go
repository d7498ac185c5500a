package socket_test

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
)

// patience is how long a test waits for what should happen at once.
const patience = 3 * time.Minute

// A site serves one function to all who connect.
type site struct {
	*socket.Server

	t       testing.TB
	address string
	ended   chan struct{} // gets one for each connection that has ended
}

// open makes a site. Nothing of it may be left when its test has ended.
func open(tb testing.TB, options socket.Options, run func(context.Context, *socket.Conn)) *site {
	tb.Helper()
	before := runtime.NumGoroutine()
	options.WriteTimeout = cmp.Or(options.WriteTimeout, patience) // a busy machine is no slow client
	options.PingEvery, options.Silence = cmp.Or(options.PingEvery, time.Hour), cmp.Or(options.Silence, 2*time.Hour)
	s := &site{Server: socket.New(options), t: tb, ended: make(chan struct{}, 10_000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ended := func() { s.ended <- struct{}{} }
		upgraded := s.Serve(w, r, func(ctx context.Context, c *socket.Conn) {
			defer ended()
			run(ctx, c)
		})
		if !upgraded {
			ended()
		}
	}))
	s.address = server.Listener.Addr().String()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(tb, s.Close(ctx))
		server.Close()
		assert.Eventually(tb, func() bool { return runtime.NumGoroutine() <= before+1 }, patience, time.Millisecond,
			"no goroutine is left") // one more asks
	})
	return s
}

// dial connects.
func (s *site) dial() *client {
	s.t.Helper()
	dialer := websocket.Dialer{HandshakeTimeout: patience}
	conn, response, err := dialer.Dial("ws://"+s.address, nil)
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	s.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(s.t, conn.SetReadDeadline(time.Now().Add(patience)))
	c := &client{Conn: conn, t: s.t}
	c.SetCloseHandler(func(code int, _ string) error { // gorilla's gives up after 1 s
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(patience)) // or it has closed
		return nil
	})
	return c
}

// raw connects as a client of which nothing is known but that it has said hello.
func (s *site) raw(header ...string) net.Conn {
	s.t.Helper()
	conn, _ := s.handshake(header...)
	return conn
}

// handshake is raw, with the header of the response to the upgrade.
func (s *site) handshake(header ...string) (net.Conn, http.Header) {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.address)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+s.address+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"+strings.Join(header, "")+"\r\n")
	require.NoError(s.t, err)
	in := bufio.NewReaderSize(conn, 16)
	response, err := http.ReadResponse(in, nil)
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	require.Equal(s.t, http.StatusSwitchingProtocols, response.StatusCode)
	return buffered{conn, in}, response.Header
}

// buffered is a connection of which a part was read ahead: the first frame may come
// together with the answer to the upgrade.
type buffered struct {
	net.Conn

	in *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }

// over waits until a connection has ended.
func (s *site) over() {
	s.t.Helper()
	await(s.t, s.ended, "the connection ends")
}

type client struct {
	*websocket.Conn

	t testing.TB
}

func (c *client) say(text string) {
	c.t.Helper()
	require.NoError(c.t, c.WriteMessage(websocket.TextMessage, []byte(text)))
}

func (c *client) hear() string {
	c.t.Helper()
	_, message, err := c.ReadMessage()
	require.NoError(c.t, err)
	return string(message)
}

// bye closes, and goes on reading.
func (c *client) bye(code int) {
	c.t.Helper()
	require.NoError(c.t, c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(patience)))
}

// end reads to the end, and returns how the server closed.
func (c *client) end() *websocket.CloseError {
	c.t.Helper()
	for {
		_, _, err := c.ReadMessage()
		if err == nil {
			continue
		}
		var closed *websocket.CloseError
		require.ErrorAs(c.t, err, &closed)
		return closed
	}
}

// orderly wants the network to end after the close as if nothing had been thrown away. Behind a reset, systems and
// browsers drop what has arrived and is not read yet.
func (c *client) orderly() {
	c.t.Helper()
	_, err := io.Copy(io.Discard, c.NetConn())
	require.NoError(c.t, err)
	require.NoError(c.t, c.Close())
}

func await[T any](tb testing.TB, c <-chan T, what string) (got T) {
	tb.Helper()
	select {
	case got = <-c:
	case <-time.After(patience):
		require.Fail(tb, "in vain", what)
	}
	return got
}

// echo says what it hears.
func echo(ctx context.Context, conn *socket.Conn) {
	for {
		message, err := conn.Receive(ctx)
		if err != nil || conn.Send(message) != nil {
			return
		}
	}
}

// deaf waits for the end.
func deaf(ctx context.Context, _ *socket.Conn) { <-ctx.Done() }

// listen receives until that fails, and passes the error on.
func listen(errs chan<- error) func(context.Context, *socket.Conn) {
	return func(ctx context.Context, conn *socket.Conn) {
		for {
			if _, err := conn.Receive(ctx); err != nil {
				errs <- err
				return
			}
		}
	}
}

// number is a frame of some size that begins with a number.
func number(i, size int) []byte {
	text := strconv.Itoa(i) + " "
	return []byte(text + strings.Repeat("x", max(0, size-len(text))))
}

// isNumber reads it.
func isNumber(tb testing.TB, want int, frame string) {
	tb.Helper()
	got, _, _ := strings.Cut(frame, " ")
	require.Equal(tb, strconv.Itoa(want), got)
}

// flood sends until that fails.
func flood(c *client) {
	message := number(0, 1000)
	var err error
	for err == nil {
		err = c.WriteMessage(websocket.TextMessage, message)
	}
}

// untilSlow sends numbers until one has to wait too long, and returns how many were sent before. That one is still being sent.
func untilSlow(conn *socket.Conn, size int) (int, error) {
	sent := make(chan error, 1)
	for i := 0; ; i++ {
		go func() { sent <- conn.Send(number(i, size)) }()
		select {
		case err := <-sent:
			if err != nil {
				return i, err
			}
		case <-time.After(100 * time.Millisecond):
			return i, nil
		}
	}
}
