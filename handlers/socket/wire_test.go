package socket_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
)

// single is a listener with one connection.
type single struct {
	conn   chan net.Conn
	closed func()
	done   <-chan struct{}
}

func (s single) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conn:
		return conn, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s single) Close() error   { s.closed(); return nil }
func (s single) Addr() net.Addr { return &net.TCPAddr{} }

// piped runs a function on a connection without any buffer, in virtual time, and gives the client's end of it, from which the answer
// to the upgrade has been read.
func piped(t *testing.T, options socket.Options, run func(context.Context, *socket.Conn)) net.Conn {
	t.Helper()
	done := make(chan struct{})
	far, near := net.Pipe()
	listener := single{make(chan net.Conn, 1), sync.OnceFunc(func() { close(done) }), done}
	listener.conn <- far
	sockets := socket.New(options)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { sockets.Serve(w, r, run) })}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		assert.NoError(t, near.Close())
		assert.NoError(t, sockets.Close(context.Background()))
		assert.NoError(t, server.Close())
		serving.Wait()
	})
	_, err := io.WriteString(near, "GET / HTTP/1.1\r\nHost: portal\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	require.NoError(t, err)
	in := bufio.NewReader(near)
	response, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	return buffered{near, in}
}

// ping is a ping of a client, goodbye its close.
const (
	ping    = "\x89\x80\x00\x00\x00\x00"
	goodbye = "\x88\x82\x00\x00\x00\x00\x03\xe8"
)

// Control frames wait for their turn, and have deadlines of their own.
func TestPingsDoNotMoveTheDeadlineOfAWrite(t *testing.T) {
	for name, test := range map[string]struct {
		pingEvery  time.Duration // of the portal
		clientPing bool
	}{
		"those of the portal": {pingEvery: 7 * time.Second},
		"those of the client": {clientPing: true},
		"those of both":       {3 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options := socket.Options{IgnoresInput: true, WriteTimeout: 10 * time.Second, PingEvery: test.pingEvery, Silence: time.Hour}
				began := time.Now()
				failed := make(chan error, 1)
				client := piped(t, options, func(_ context.Context, conn *socket.Conn) { failed <- conn.Send(make([]byte, 1000)) })
				if test.clientPing {
					time.Sleep(5 * time.Second)
					_, err := io.WriteString(client, ping)
					require.NoError(t, err)
				}
				require.ErrorIs(t, <-failed, socket.ErrGone)
				assert.Equal(t, 10*time.Second, time.Since(began))
			})
		})
	}
}

// A client that takes a long frame slowly is not cut off because pings and pongs wait behind it.
func TestPingMayWaitForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := socket.Options{IgnoresInput: true, WriteTimeout: 10 * time.Second, PingEvery: 8 * time.Second, Silence: time.Hour}
		frame := make([]byte, 20<<16)
		client := piped(t, options, func(_ context.Context, conn *socket.Conn) {
			assert.NoError(t, conn.Send(frame))
		})
		for i := range 5 { // slower than a ping may be
			time.Sleep(5 * time.Second)
			if i == 2 { // and so is the pong
				_, err := io.WriteString(client, ping)
				require.NoError(t, err)
			}
			_, err := io.CopyN(io.Discard, client, 10_000)
			require.NoError(t, err)
		}
		_, err := io.CopyN(io.Discard, client, int64(len(frame)-5*10_000))
		require.NoError(t, err)
		rest, err := io.ReadAll(client)
		require.NoError(t, err)
		assert.Contains(t, string(rest), "\x89\x00", "the ping comes behind the frame")
		assert.Contains(t, string(rest), "\x88\x02\x03\xe8", "the close is an orderly one")
	})
}

// A client that takes a long frame slowly does not keep a closed connection open.
func TestClosePutsAnEndToAFrameThatIsNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		close func(conn *socket.Conn, client net.Conn)
		ends  time.Duration
	}{
		"of the portal": {func(conn *socket.Conn, _ net.Conn) { conn.Close(4001, "") }, 10*time.Second + 2*time.Second},
		"of the client": {func(_ *socket.Conn, client net.Conn) { _, _ = io.WriteString(client, goodbye) }, 2*time.Second + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conns, failed := make(chan *socket.Conn, 1), make(chan error, 1)
				client := piped(t, socket.Options{IgnoresInput: true, WriteTimeout: 10 * time.Second, Linger: 2 * time.Second}, func(_ context.Context, conn *socket.Conn) {
					conns <- conn
					failed <- conn.Send(make([]byte, 40<<16))
				})
				conn := <-conns
				var reader sync.WaitGroup
				defer reader.Wait()
				reader.Go(func() { // slowly, so the client is not cut off
					for err := error(nil); err == nil; _, err = io.CopyN(io.Discard, client, 10_000) {
						time.Sleep(3 * time.Second)
					}
				})
				time.Sleep(time.Second)
				began := time.Now()
				go c.close(conn, client)
				require.Error(t, <-failed)
				assert.Equal(t, c.ends, time.Since(began))
			})
		})
	}
}
