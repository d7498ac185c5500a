package socket_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
)

// clientFrame returns a masked frame.
func clientFrame(head byte, payload []byte) []byte {
	frame := []byte{head, 0x80 | byte(len(payload))}
	if len(payload) > 125 {
		frame = binary.BigEndian.AppendUint64([]byte{head, 0x80 | 127}, uint64(len(payload)))
	}
	key := []byte{1, 2, 3, 4}
	frame = append(frame, key...)
	for i, b := range payload {
		frame = append(frame, b^key[i%4])
	}
	return frame
}

// compress returns the payload of a compressed message.
func compress(tb testing.TB, text string) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	require.NoError(tb, err)
	_, err = w.Write([]byte(text))
	require.NoError(tb, err)
	require.NoError(tb, w.Flush())
	return bytes.TrimSuffix(out.Bytes(), []byte{0, 0, 0xff, 0xff})
}

// offersDeflate is a client that compresses what it sends.
const offersDeflate = "Sec-WebSocket-Extensions: permessage-deflate\r\n"

// repeat sends back the first message.
func repeat(ctx context.Context, conn *socket.Conn) {
	message, err := conn.Receive(ctx)
	if err == nil {
		_ = conn.Send(message)
	}
}

func TestCompressedMessagesAreRead(t *testing.T) {
	long := strings.Repeat("a long text ", 50)
	packed := compress(t, long)
	for name, sent := range map[string][][]byte{
		"in one frame":              {clientFrame(0xc1, packed)},
		"in two frames":             {clientFrame(0x41, packed[:3]), clientFrame(0x80, packed[3:])},
		"in many frames":            {clientFrame(0x41, nil), clientFrame(0, packed[:9]), clientFrame(0, packed[9:]), clientFrame(0x80, nil)},
		"with a ping between":       {clientFrame(0x41, packed[:9]), clientFrame(0x89, []byte("ping")), clientFrame(0x80, packed[9:])},
		"after one that is not":     {clientFrame(0x81, []byte(long)), clientFrame(0xc1, packed)},
		"one that is not, in three": {clientFrame(0x01, []byte(long[:5])), clientFrame(0, []byte(long[5:9])), clientFrame(0x80, []byte(long[9:]))},
		"with a part uncompressed":  {clientFrame(0x41, packed[:9]), clientFrame(0x80, packed[9:])},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, socket.Options{Compress: true}, repeat)
			conn := s.raw(offersDeflate)
			for _, frame := range sent {
				_, err := conn.Write(frame)
				require.NoError(t, err)
			}
			var received []byte
			if name == "with a ping between" {
				pong := make([]byte, len("..ping"))
				_, err := io.ReadFull(conn, pong)
				require.NoError(t, err)
				require.Equal(t, "ping", string(pong[2:]))
			}
			text, _ := hearCompressed(t, conn, &received)
			assert.Equal(t, long, text)
			require.NoError(t, conn.Close())
		})
	}
}

func TestBrokenCompressedMessagesEndTheConnection(t *testing.T) {
	packed := compress(t, "text")
	for name, sent := range map[string][][]byte{
		"no compressed data":       {clientFrame(0xc1, []byte{0xff, 0xff, 0xff})},
		"a second message within":  {clientFrame(0x41, packed), clientFrame(0x81, []byte("other"))},
		"a marked continuation":    {clientFrame(0x41, packed), clientFrame(0xc0, packed)},
		"a compressed ping":        {clientFrame(0xc9, packed)},
		"no mask":                  {{0xc1, 1, 0}},
		"a length without a limit": {append([]byte{0xc1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 1, 2, 3, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			received := make(chan error, 1)
			s := open(t, socket.Options{Compress: true}, func(ctx context.Context, conn *socket.Conn) {
				_, err := conn.Receive(ctx)
				received <- err
			})
			conn := s.raw(offersDeflate)
			for _, frame := range sent {
				_, err := conn.Write(frame)
				require.NoError(t, err)
			}
			require.Error(t, await(t, received, "receiving ends"))
			require.NoError(t, conn.Close())
		})
	}
}

func TestMessageThatGetsTooLongWhenInflatedIsRefused(t *testing.T) {
	for _, size := range []int{1000, 1001, 10 << 20} {
		s := open(t, socket.Options{Compress: true, MaxMessage: 1000}, func(ctx context.Context, conn *socket.Conn) {
			if message, err := conn.Receive(ctx); err == nil {
				conn.Close(4000+len(message)%1000, "received")
			}
		})
		conn := s.connect(websocket.Dialer{EnableCompression: true})
		conn.EnableWriteCompression(true)
		go func() { // which fails if the server has closed before all is sent
			_ = conn.WriteMessage(websocket.TextMessage, []byte(strings.Repeat("x", size)))
		}()
		want := websocket.CloseMessageTooBig
		if size <= 1000 {
			want = 4000
		}
		assert.Equal(t, want, conn.end().Code, "%d bytes", size)
	}
}

func TestCompressedMessagesOfAnySizeArriveWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	texts := make([]string, 200)
	for i := range texts {
		texts[i] = strings.Repeat(string(rune('a'+random.IntN(26)))+"é", random.IntN(1<<(i%15)))
	}
	s := open(t, socket.Options{Compress: true}, func(ctx context.Context, conn *socket.Conn) {
		for m, err := conn.Receive(ctx); err == nil; m, err = conn.Receive(ctx) {
			_ = conn.Send(m)
		}
	})
	conn := s.connect(websocket.Dialer{EnableCompression: true})
	for i, text := range texts {
		conn.EnableWriteCompression(i%3 > 0)
		conn.say(text)
		require.Equal(t, text, conn.hear())
	}
}

// FuzzClientFrames sends anything as a client that compresses: nothing may hang or panic.
func FuzzClientFrames(f *testing.F) {
	f.Add(clientFrame(0xc1, []byte{0xca, 0x49, 0x04, 0x00}))
	f.Add(append(clientFrame(0x41, []byte{0xca}), clientFrame(0x80, []byte{0x49, 0x04, 0x00})...))
	f.Add(clientFrame(0x81, []byte("text")))
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := open(t, socket.Options{Compress: true, MaxMessage: 1 << 10}, func(ctx context.Context, conn *socket.Conn) {
			for err := error(nil); err == nil; {
				var m []byte
				m, err = conn.Receive(ctx)
				assert.LessOrEqual(t, len(m), 1<<10)
			}
		})
		conn := s.raw(offersDeflate)
		_, _ = conn.Write(sent)
		_ = conn.(buffered).Conn.(*net.TCPConn).CloseWrite()
		s.over()
	})
}
