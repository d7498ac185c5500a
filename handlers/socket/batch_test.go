package socket_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
)

// connect connects as a client with wishes.
func (s *site) connect(dialer websocket.Dialer) *client {
	s.t.Helper()
	conn, response, err := dialer.Dial("ws://"+s.address+"/", nil)
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	s.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(s.t, conn.SetReadDeadline(time.Now().Add(patience)))
	return &client{Conn: conn, t: s.t}
}

func TestManyFramesAreWrittenAtOnce(t *testing.T) {
	texts := []string{"", "short", strings.Repeat("x", 125), strings.Repeat("y", 126), strings.Repeat("long ", 30_000), "日本語", strings.Repeat("z", 2000)}
	all := make([][]byte, 0, len(texts))
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	for name, c := range map[string]struct{ server, client bool }{
		"plain":                       {},
		"compressed":                  {true, true},
		"compressed for others":       {true, false},
		"compressed is not agreed on": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, socket.Options{Compress: c.server}, func(_ context.Context, conn *socket.Conn) {
				assert.NoError(t, conn.Send(all...))
				assert.NoError(t, conn.Send())
				assert.NoError(t, conn.Send(all[1]))
			})
			conn := s.connect(websocket.Dialer{EnableCompression: c.client})
			for _, text := range append(texts, "short") {
				require.Equal(t, text, conn.hear())
			}
			assert.Equal(t, websocket.CloseNormalClosure, conn.end().Code)
			s.over()
		})
	}
}

func TestCompressionMakesLongFramesShort(t *testing.T) {
	s := open(t, socket.Options{Compress: true}, func(_ context.Context, conn *socket.Conn) {
		assert.NoError(t, conn.Send([]byte(strings.Repeat("long ", 20_000))))
	})
	conn := s.raw("Sec-WebSocket-Extensions: foo, permessage-deflate; client_max_window_bits\r\n")
	head := make([]byte, 4)
	_, err := io.ReadFull(conn, head)
	require.NoError(t, err)
	assert.Equal(t, byte(0xc1), head[0])
	assert.Less(t, int(head[2])<<8|int(head[3]), 2000)
}

func TestSubprotocolsAreAgreedOn(t *testing.T) {
	for name, c := range map[string]struct {
		offered []string
		want    string
	}{
		"none":        {nil, ""},
		"another":     {[]string{"chat"}, ""},
		"ours":        {[]string{"ours.v1"}, "ours.v1"},
		"ours, later": {[]string{"chat", "ours.v1"}, "ours.v1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, socket.Options{Subprotocols: []string{"ours.v1"}}, func(_ context.Context, conn *socket.Conn) {
				assert.NoError(t, conn.Send([]byte("agreed on: "+conn.Subprotocol())))
			})
			conn := s.connect(websocket.Dialer{Subprotocols: c.offered})
			assert.Equal(t, c.want, conn.Subprotocol())
			assert.Equal(t, "agreed on: "+c.want, conn.hear())
		})
	}
}

func TestIgnoredClientMaySendAndLeave(t *testing.T) {
	left := make(chan error, 1)
	s := open(t, socket.Options{IgnoresInput: true}, func(ctx context.Context, conn *socket.Conn) {
		<-ctx.Done()
		left <- conn.Send([]byte("too late"))
	})
	conn := s.dial()
	for range 100 {
		conn.say("anything")
	}
	conn.bye(websocket.CloseNormalClosure)
	require.ErrorIs(t, await(t, left, "the function ends"), socket.ErrClosed)
	assert.Equal(t, websocket.CloseNormalClosure, conn.end().Code)
	s.over()
}

func TestStalledClientIsDisconnected(t *testing.T) {
	failed := make(chan error, 1)
	frame := number(0, 60<<10)
	s := open(t, socket.Options{IgnoresInput: true, WriteTimeout: 100 * time.Millisecond, PingEvery: 10 * time.Millisecond}, func(_ context.Context, conn *socket.Conn) {
		var err error
		for err == nil {
			err = conn.Send(frame, frame, frame)
		}
		failed <- err
	})
	s.raw()
	require.ErrorIs(t, await(t, failed, "sending fails"), socket.ErrGone)
	s.over()
}

func TestPingsComeBetweenWholeFrames(t *testing.T) {
	frame := number(7, 100<<10)
	s := open(t, socket.Options{IgnoresInput: true, PingEvery: time.Millisecond}, func(_ context.Context, conn *socket.Conn) {
		for range 200 {
			assert.NoError(t, conn.Send(frame, frame))
		}
	})
	conn := s.dial()
	pings := 0
	conn.SetPingHandler(func(string) error { pings++; return nil })
	for range 400 {
		require.Len(t, conn.hear(), len(frame))
	}
	assert.Equal(t, websocket.CloseNormalClosure, conn.end().Code)
	assert.Positive(t, pings)
}

func TestSlowClientMayPing(t *testing.T) {
	frame := number(7, 60<<10)
	sent := make(chan error, 1)
	s := open(t, socket.Options{IgnoresInput: true}, func(_ context.Context, conn *socket.Conn) {
		var err error
		for i := 0; i < 400 && err == nil; i++ {
			err = conn.Send(frame)
		}
		sent <- err
	})
	conn := s.dial()
	time.Sleep(300 * time.Millisecond) // nothing is read here, so nothing more can be written there
	require.NoError(t, conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(patience)))
	time.Sleep(1200 * time.Millisecond) // gorilla has a second for a pong
	for range 400 {
		require.Len(t, conn.hear(), len(frame))
	}
	require.NoError(t, await(t, sent, "all is sent"))
}

func TestHandshakeNamesNoMoreThanWasOffered(t *testing.T) {
	s := open(t, socket.Options{Compress: true, Subprotocols: []string{"ours.v1"}}, deaf)
	conn, response, err := (&websocket.Dialer{}).Dial("ws://"+s.address+"/", nil)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	assert.Empty(t, response.Header.Get("Sec-WebSocket-Extensions"))
	assert.Empty(t, response.Header.Get("Sec-WebSocket-Protocol"))
}
