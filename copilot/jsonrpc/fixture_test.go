package jsonrpc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// handle returns a method that needs only the request.
func handle(f func(*jsonrpc.Request) (any, error)) jsonrpc.Method {
	return jsonrpc.Method{Handle: func(_ context.Context, r *jsonrpc.Request) (any, error) { return f(r) }}
}

func withReadLoop(m jsonrpc.Method) jsonrpc.Method {
	m.InOrder = true
	return m
}

// echo returns its parameters.
func echo(r *jsonrpc.Request) (any, error) { return r.Params, nil }

// output collects what is written.
type output struct{ bytes.Buffer }

func (*output) Close() error { return nil }

// converse lets a peer read all lines and returns the lines that it wrote.
func converse(t *testing.T, methods jsonrpc.Methods, options jsonrpc.Options, lines jsonrpc.LineOptions, in io.Reader) []string {
	t.Helper()
	out := &output{}
	peer := jsonrpc.New(jsonrpc.NewLines(io.NopCloser(in), out, lines), methods, options)
	require.NoError(t, peer.Run(t.Context()))
	text := out.String()
	if text == "" {
		return nil
	}
	require.True(t, strings.HasSuffix(text, "\n"), "each line has an end")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// wire is a peer whose other end is controlled line by line.
type wire struct {
	*jsonrpc.Peer

	t     *testing.T
	conn  net.Conn
	lines *bufio.Scanner
	ended chan error
}

// connect runs a peer until its context ends or the wire is cut.
func connect(ctx context.Context, t *testing.T, methods jsonrpc.Methods, options jsonrpc.Options) *wire {
	t.Helper()
	here, there := net.Pipe()
	w := &wire{t: t, conn: there, lines: bufio.NewScanner(there), ended: make(chan error, 1)}
	w.Peer = jsonrpc.New(jsonrpc.NewLines(here, here, jsonrpc.LineOptions{}), methods, options)
	go func() { w.ended <- w.Run(ctx) }()
	return w
}

// send sends lines.
func (w *wire) send(lines ...string) {
	w.t.Helper()
	for _, line := range lines {
		_, err := io.WriteString(w.conn, line+"\n")
		require.NoError(w.t, err)
	}
}

// receive returns the next line.
func (w *wire) receive() string {
	w.t.Helper()
	require.True(w.t, w.lines.Scan(), "%v", w.lines.Err())
	return w.lines.Text()
}

// expect requires the next line, byte by byte.
func (w *wire) expect(want string) {
	w.t.Helper()
	require.Equal(w.t, want, w.receive())
}

// cut ends the connection from the other end and waits until Run returns.
func (w *wire) cut() {
	w.t.Helper()
	require.NoError(w.t, w.conn.Close())
	assert.NoError(w.t, <-w.ended)
}

// state waits until nothing more happens and returns the error of Run, or errRuns.
func (w *wire) state() error {
	synctest.Wait()
	select {
	case err := <-w.ended:
		return err
	default:
		return errRuns
	}
}

var errRuns = errors.New("the peer is still running")

// couple connects two peers and runs both until the test ends.
func couple(tb testing.TB, left, right jsonrpc.Methods, options jsonrpc.Options) (*jsonrpc.Peer, *jsonrpc.Peer) {
	tb.Helper()
	a, b := net.Pipe()
	one := jsonrpc.New(jsonrpc.NewLines(a, a, jsonrpc.LineOptions{}), left, options)
	two := jsonrpc.New(jsonrpc.NewLines(b, b, jsonrpc.LineOptions{}), right, options)
	ended := make(chan error, 2)
	for _, p := range []*jsonrpc.Peer{one, two} {
		go func() { ended <- p.Run(context.WithoutCancel(tb.Context())) }()
	}
	tb.Cleanup(func() {
		one.Stop()
		assert.NoError(tb, <-ended)
		two.Stop()
		assert.NoError(tb, <-ended)
	})
	return one, two
}
