package socket_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
)

func TestUnsupportedFramesAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		kind int
		text string
		code int
	}{
		"a message that is too long": {websocket.TextMessage, strings.Repeat("x", 16<<20), websocket.CloseMessageTooBig},
		"a binary message":           {websocket.BinaryMessage, "x", websocket.CloseUnsupportedData},
		"text that is no UTF-8":      {websocket.TextMessage, "\xff", websocket.CloseInvalidFramePayloadData},
	} {
		t.Run(name, func(t *testing.T) {
			errs := make(chan error, 1)
			s := open(t, socket.Options{MaxMessage: 1000, Linger: patience}, listen(errs))
			c := s.dial()
			c.say(strings.Repeat("x", 1000))
			require.NoError(t, c.WriteMessage(test.kind, []byte(test.text)))
			go flood(c) // what is said afterwards must not take the close with it
			assert.Equal(t, test.code, c.end().Code)
			c.orderly()
			require.ErrorIs(t, await(t, errs, "receiving fails"), socket.ErrGone)
			s.over()
		})
	}
}

func TestUnreceivedClientBlocksOnlyItself(t *testing.T) {
	s := open(t, socket.Options{}, func(ctx context.Context, conn *socket.Conn) {
		if first, err := conn.Receive(ctx); err == nil && string(first) == "stop" {
			<-ctx.Done()
		}
		echo(ctx, conn)
	})
	loud := s.dial()
	loud.say("stop")
	require.NoError(t, loud.SetWriteDeadline(time.Now().Add(300*time.Millisecond)))
	flood(loud) // ends when it cannot write any more
	other := s.dial()
	other.say("go")
	other.say("hello")
	assert.Equal(t, "hello", other.hear())
}

func TestDiscardStillDetectsClose(t *testing.T) {
	heard := make(chan error, 1)
	s := open(t, socket.Options{}, func(ctx context.Context, conn *socket.Conn) { heard <- conn.Discard(ctx) })
	c := s.dial()
	for range 100 {
		c.say("anything")
	}
	c.bye(websocket.CloseNormalClosure)
	assert.Equal(t, websocket.CloseNormalClosure, c.end().Code)
	require.NoError(t, await(t, heard, "the close is heard"))
}

func TestPingsKeepAQuietClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := piped(t, socket.Options{PingEvery: 20 * time.Millisecond, Silence: time.Second}, echo)
		for range 150 { // three times as long as it may be silent
			var heard [2]byte
			_, err := io.ReadFull(c, heard[:])
			require.NoError(t, err)
			require.Equal(t, "\x89\x00", string(heard[:]), "a ping")
			_, err = io.WriteString(c, "\x8a\x80\x00\x00\x00\x00")
			require.NoError(t, err)
		}
		_, err := c.Write(clientFrame(0x81, []byte("still here")))
		require.NoError(t, err)
		assert.Equal(t, "still here", rawText(t, c))
	})
}

func TestSilentClientIsCutOff(t *testing.T) {
	errs := make(chan error, 1)
	s := open(t, socket.Options{PingEvery: 20 * time.Millisecond, Silence: 100 * time.Millisecond}, listen(errs))
	s.raw()
	err := await(t, errs, "receiving fails")
	require.ErrorIs(t, err, socket.ErrGone)
	var network net.Error
	require.ErrorAs(t, err, &network)
	assert.True(t, network.Timeout())
	s.over()
}

func TestClientIsNotSilentWhileItIsNotReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const silence = 100 * time.Millisecond
		c := piped(t, socket.Options{PingEvery: 20 * time.Millisecond, Silence: silence}, func(ctx context.Context, conn *socket.Conn) {
			time.Sleep(5 * silence)
			echo(ctx, conn)
		})
		go func() {
			for range 3 {
				_, err := c.Write(clientFrame(0x81, []byte("hello")))
				assert.NoError(t, err)
			}
		}()
		for range 3 {
			assert.Equal(t, "hello", rawText(t, c))
		}
	})
}

func TestClientIsNotSilentWhileItSendsALongMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const silence, size = 100 * time.Millisecond, 30
		c := piped(t, socket.Options{PingEvery: 20 * time.Millisecond, Silence: silence}, echo)
		_, err := c.Write([]byte{0x81, 0x80 | size, 0, 0, 0, 0}) // text, masked with nothing
		require.NoError(t, err)
		for range size {
			time.Sleep(silence / 5)
			_, err = c.Write([]byte("x"))
			require.NoError(t, err)
		}
		assert.Equal(t, strings.Repeat("x", size), rawText(t, c))
	})
}

// rawText reads frames up to one of text, which has to be short.
func rawText(t *testing.T, c net.Conn) string {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	for {
		var head [2]byte
		_, err := io.ReadFull(c, head[:])
		require.NoError(t, err)
		require.Less(t, binary.BigEndian.Uint16(head[:])&0x7f, uint16(126))
		text := make([]byte, head[1])
		_, err = io.ReadFull(c, text)
		require.NoError(t, err)
		if head[0] == 0x81 {
			return string(text)
		}
	}
}
