package jsonrpc_test

import (
	"bufio"
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

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// routed wraps a writer as a router does.
type routed struct{ http.ResponseWriter }

func (w routed) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestClientCanReadThatItsBodyIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := jsonrpc.NewHTTP(jsonrpc.Methods{}, jsonrpc.Options{Body: 100})
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(routed{routed{w}}, r)
		}))
		go fmt.Fprintf(client, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 20000\r\n\r\n%s", strings.Repeat("1", 10_000))
		in := bufio.NewReader(client)
		answer, err := http.ReadResponse(in, nil) //nolint:bodyclose // the connection is closed
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		assert.Contains(t, string(text), "a body may have 100 bytes")
		answered := time.Now()
		_, err = in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		assert.Equal(t, 500*time.Millisecond, time.Since(answered), "the delay of net/http")
	})
}

// serve serves one connection and returns the client's end.
func serve(t *testing.T, h http.Handler) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	l := &single{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.conn <- theirs
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = ours.Close()
		_ = server.Close()
		<-done
	})
	return ours
}

// single is a listener with one connection.
type single struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *single) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *single) Close() error   { close(l.closed); return nil }
func (l *single) Addr() net.Addr { return &net.TCPAddr{} }
