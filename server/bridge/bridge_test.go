package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/server/bridge"
)

func TestLinesAndFramesKeepTheirOrder(t *testing.T) {
	address, _ := listen(t, echo)
	c := cross(t, t.Context(), bridge.Options{Address: address})
	const n = 2000
	go func() {
		for i := range n {
			fmt.Fprintf(c.in, "line ä %d\r\n\n", i)
		}
		c.in.Close()
	}()
	for i := range n {
		require.Equal(t, fmt.Sprintf("line ä %d\n", i), c.hear())
	}
	_, err := c.lines.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, c.end())
}

func TestDirectoryAndTokenAreSent(t *testing.T) {
	requests := make(chan *http.Request, 1)
	address, _ := listenTo(t, func(r *http.Request) { requests <- r }, func(context.Context, *socket.Conn) {})
	for name, tc := range map[string]struct {
		address string
		options bridge.Options
		want    string
	}{
		"none":                   {"/base/", bridge.Options{}, ""},
		"the one in the address": {"/base?token=one", bridge.Options{}, "Bearer one"},
		"the given one first":    {"/base?token=one", bridge.Options{Token: "two", DefaultToken: "three"}, "Bearer two"},
		"before the default":     {"/base?token=one", bridge.Options{DefaultToken: "three"}, "Bearer one"},
		"the default":            {"/base", bridge.Options{DefaultToken: "three"}, "Bearer three"},
	} {
		t.Run(name, func(t *testing.T) {
			o := tc.options
			o.Address, o.Directory = address+tc.address, "/a b"
			c := cross(t, t.Context(), o)
			r := <-requests
			assert.Equal(t, tc.want, r.Header.Get("Authorization"))
			assert.Equal(t, "/base/ui?cwd=%2Fa+b", r.URL.String())
			require.ErrorContains(t, c.end(), "has closed the connection")
		})
	}
}

func TestLastAnswersArriveAfterTheEndOfInput(t *testing.T) {
	address, _ := listen(t, func(ctx context.Context, conn *socket.Conn) {
		var asked []byte
		for frame, err := conn.Receive(ctx); !errors.Is(err, io.EOF); frame, err = conn.Receive(ctx) {
			asked = frame
		}
		_ = conn.Send([]byte("an answer to " + string(asked)))
	})
	c := cross(t, t.Context(), bridge.Options{Address: address})
	c.say("a question") // without a line end
	require.NoError(t, c.in.Close())
	assert.Equal(t, "an answer to a question\n", c.hear())
	require.NoError(t, c.end())
}

func TestUnsendableLineIsAnswered(t *testing.T) {
	address, _ := listen(t, echo)
	c := cross(t, t.Context(), bridge.Options{Address: address})
	const refused = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"the message is %s"}}`
	c.say("no \xff UTF-8\n")
	assert.JSONEq(t, fmt.Sprintf(refused, "not valid UTF-8"), c.hear())
	c.say(strings.Repeat("x", bridge.MaxLine+1) + "\n")
	assert.JSONEq(t, fmt.Sprintf(refused, "too long: a line may have 67108864 bytes"), c.hear())
	longest := strings.Repeat("x", bridge.MaxLine) + "\n"
	go c.say(longest)
	assert.Equal(t, len(longest), len(c.hear()), "the longest line passes in both directions") //nolint:testifylint // does not print 64 MiB
	require.NoError(t, c.in.Close())
	require.NoError(t, c.end())
}

func TestMultilineFrameBecomesOneLine(t *testing.T) {
	address, _ := listen(t, func(ctx context.Context, conn *socket.Conn) {
		_ = conn.Send([]byte("{\r\n\"a\": 1\n}"))
		_, _ = conn.Receive(ctx)
	})
	c := cross(t, t.Context(), bridge.Options{Address: address})
	assert.Equal(t, "{  \"a\": 1 }\n", c.hear())
}

func TestIdleBridgeAnswersPings(t *testing.T) {
	pongs := make(chan string, 1)
	address := wild(t, func(conn *websocket.Conn) {
		conn.SetPongHandler(func(text string) error { pongs <- text; return nil })
		_ = conn.WriteControl(websocket.PingMessage, []byte("are you there?"), time.Now().Add(soon))
		_, _, _ = conn.ReadMessage()
	})
	cross(t, t.Context(), bridge.Options{Address: address})
	assert.Equal(t, "are you there?", <-pongs)
}

func TestLostPortalIsReportedWithHint(t *testing.T) {
	closing := func(code int, reason string) func(*websocket.Conn) {
		return func(conn *websocket.Conn) {
			_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(soon))
			_, _, _ = conn.ReadMessage()
		}
	}
	for name, tc := range map[string]struct {
		run   func(*websocket.Conn)
		parts []string
	}{
		"it stops":         {closing(1001, "the portal is stopping"), []string{"has stopped", "start it again with: portal"}},
		"it is lost":       {func(conn *websocket.Conn) { _ = conn.NetConn().Close() }, []string{"was lost", "start it again with: portal"}},
		"it closes":        {closing(1000, ""), []string{"has closed the connection: 1000"}},
		"it refuses":       {closing(1008, "not\nyou"), []string{`has closed the connection: 1008 "not\nyou"`}},
		"it sends garbage": {func(conn *websocket.Conn) { _, _ = conn.NetConn().Write([]byte("HTTP/1.1 what?")) }, []string{"was lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			address := wild(t, tc.run)
			err := cross(t, t.Context(), bridge.Options{Address: address + "?token=secret"}).end()
			for _, part := range append(tc.parts, "the portal at "+address) {
				require.ErrorContains(t, err, part)
			}
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestPortalMayStopDuringTheLastAnswers(t *testing.T) {
	asked := make(chan struct{})
	address, sockets := listen(t, func(ctx context.Context, conn *socket.Conn) {
		for _, err := conn.Receive(ctx); err == nil; _, err = conn.Receive(ctx) {
			continue // until the client has sent everything
		}
		close(asked)
		<-ctx.Done()
	})
	c := cross(t, t.Context(), bridge.Options{Address: address})
	require.NoError(t, c.in.Close())
	<-asked
	_ = sockets.Close(t.Context())
	require.NoError(t, c.end())
}

func TestBridgeEndsWithItsContext(t *testing.T) {
	connected := make(chan struct{}, 1)
	address := wild(t, func(conn *websocket.Conn) {
		connected <- struct{}{}
		conn.SetCloseHandler(func(int, string) error { return nil }) // as if the portal hung
		_, _, _ = conn.ReadMessage()
		_, _ = io.Copy(io.Discard, conn.NetConn())
	})
	ctx, cancel := context.WithCancel(t.Context())
	c := cross(t, ctx, bridge.Options{Address: address})
	<-connected
	cancel()
	_ = c.in.Close()
	require.NoError(t, c.end())
}

func TestBridgeEndsWhilePortalTakesNothing(t *testing.T) {
	connected := make(chan struct{})
	address := wild(t, func(conn *websocket.Conn) {
		_, r, err := conn.NextReader()
		if assert.NoError(t, err) {
			_, _ = r.Read(make([]byte, 1)) // the line is on its way
		}
		close(connected)
		<-t.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	c := cross(t, ctx, bridge.Options{Address: address})
	c.say(strings.Repeat("x", bridge.MaxLine/2) + "\n") // more than the network takes
	<-connected
	cancel()
	_ = c.in.Close()
	require.NoError(t, c.end())
}

func TestClosedOutputIsReported(t *testing.T) {
	address, _ := listen(t, echo)
	c := cross(t, t.Context(), bridge.Options{Address: address})
	require.NoError(t, c.out.Close())
	c.say("a\n")
	require.ErrorContains(t, c.end(), "cannot write to the UI")
}
