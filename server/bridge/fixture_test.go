package bridge_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/server/bridge"
)

// soon is the time limit for what takes milliseconds on an idle machine.
const soon = time.Minute

// listen serves WebSockets as the portal does.
func listen(t *testing.T, run func(context.Context, *socket.Conn)) (address string, sockets *socket.Server) {
	t.Helper()
	return listenTo(t, func(*http.Request) {}, run)
}

// listenTo is listen, and passes on each request.
func listenTo(t *testing.T, pass func(*http.Request), run func(context.Context, *socket.Conn)) (address string, sockets *socket.Server) {
	t.Helper()
	sockets = socket.New(socket.Options{MaxMessage: bridge.MaxLine})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pass(r)
		sockets.Serve(w, r, run)
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = sockets.Close(ctx)
		s.Close()
	})
	return s.URL, sockets
}

// wild serves WebSockets that do not behave like a portal's.
func wild(t *testing.T, run func(*websocket.Conn)) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		run(conn)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// echo sends every message back.
func echo(ctx context.Context, conn *socket.Conn) {
	for frame, err := conn.Receive(ctx); err == nil; frame, err = conn.Receive(ctx) {
		if conn.Send(frame) != nil {
			return
		}
	}
}

// client is the UI on the streams of a bridge.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *io.PipeReader
	lines *bufio.Reader
	over  chan error
}

// cross starts a bridge.
func cross(t *testing.T, ctx context.Context, o bridge.Options) client { //nolint:revive // t comes first in tests
	t.Helper()
	in, ui := io.Pipe()
	out, from := io.Pipe()
	o.Path, o.In, o.Out = "ui", in, from
	c := client{t, ui, out, bufio.NewReader(out), make(chan error, 1)}
	go func() {
		err := bridge.Run(ctx, o)
		_ = from.Close()
		c.over <- err
	}()
	t.Cleanup(func() { _ = ui.Close(); _ = out.Close() })
	return c
}

func (c client) say(lines string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, lines)
	require.NoError(c.t, err)
}

func (c client) hear() string {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	require.NoError(c.t, err)
	return line
}

// end waits for the end of the bridge, which must come soon, and returns its result.
func (c client) end() error {
	c.t.Helper()
	select {
	case err := <-c.over:
		return err
	case <-time.After(soon):
		c.t.Fatal("the bridge did not end")
		return nil
	}
}
