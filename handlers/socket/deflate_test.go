package socket_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
)

// hearCompressed returns the text of the next frame for a client that keeps what it has received, and the size of its payload.
func hearCompressed(tb testing.TB, conn net.Conn, received *[]byte) (text string, size int) {
	tb.Helper()
	head := make([]byte, 2)
	_, err := io.ReadFull(conn, head)
	require.NoError(tb, err)
	size = int(head[1])
	if size == 126 {
		length := make([]byte, 2)
		_, err = io.ReadFull(conn, length)
		require.NoError(tb, err)
		size = int(binary.BigEndian.Uint16(length))
	}
	require.Less(tb, size, 1<<16-1)
	payload := make([]byte, size)
	_, err = io.ReadFull(conn, payload)
	require.NoError(tb, err)
	if head[0] == 0x81 {
		return string(payload), size
	}
	require.Equal(tb, byte(0xc1), head[0])
	all := io.MultiReader(bytes.NewReader(payload), strings.NewReader("\x00\x00\xff\xff\x01\x00\x00\xff\xff"))
	plain, err := io.ReadAll(flate.NewReaderDict(all, *received))
	require.NoError(tb, err)
	*received = append(*received, plain...)
	return string(plain), size
}

func word(n int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session.event","params":{"sessionId":"e379b01e-5bf5-4cc9-bb33-cb797420a4b6","data":{"content":"word %d"}}}`, n)
}

// sendMixed sends shared frames and others.
func sendMixed(shared [][]byte) func(context.Context, *socket.Conn) {
	return func(_ context.Context, conn *socket.Conn) {
		for i, frame := range shared {
			_ = conn.Send(frame)
			if i == 3 {
				_ = conn.Send([]byte("a secret"), []byte(strings.Repeat("long ", 1000)))
			}
		}
	}
}

func TestSharedFramesReferToTheFrameBefore(t *testing.T) {
	var shared [][]byte
	for n := range 8 {
		shared = append(shared, word(n))
	}
	s := open(t, socket.Options{Compress: true}, sendMixed(shared))
	for _, frame := range shared {
		s.Share(frame)
	}
	for name, c := range map[string]struct {
		offer string
		small bool
	}{
		"with context":     {"permessage-deflate; client_max_window_bits", true},
		"of a second kind": {"other, permessage-deflate; client_no_context_takeover", true},
		"without context":  {"permessage-deflate; server_no_context_takeover", false},
	} {
		t.Run(name, func(t *testing.T) {
			conn, received := s.raw("Sec-WebSocket-Extensions: "+c.offer+"\r\n"), []byte(nil)
			for i, frame := range shared {
				if !c.small {
					received = nil
				}
				text, size := hearCompressed(t, conn, &received)
				require.Equal(t, string(frame), text)
				if follows := i > 0 && i != 4; follows { // the long frame before 4 is not shared
					assert.Equal(t, c.small, size < 30, "%d: %d bytes", i, size)
				}
				if i == 3 {
					text, size = hearCompressed(t, conn, &received)
					assert.Equal(t, "a secret", text)
					assert.Len(t, text, size, "is not compressed")
					if !c.small {
						received = nil
					}
					text, _ = hearCompressed(t, conn, &received)
					require.Len(t, text, 5000)
				}
			}
			require.NoError(t, conn.Close())
		})
	}
}

func TestCompressionIsAgreedOn(t *testing.T) {
	for offer, want := range map[string]string{
		"":                   "",
		"permessage-bzip2":   "",
		"permessage-deflate": "permessage-deflate; client_no_context_takeover",
		"permessage-deflate; client_max_window_bits=10":                            "permessage-deflate; client_no_context_takeover",
		"permessage-deflate; server_max_window_bits=10":                            "",
		"permessage-deflate; server_max_window_bits=10, permessage-deflate":        "permessage-deflate; client_no_context_takeover",
		"permessage-deflate; server_no_context_takeover; client_max_window_bits":   "permessage-deflate; client_no_context_takeover; server_no_context_takeover",
		"permessage-deflate; unknown=1":                                            "",
		"permessage-deflate;server_no_context_takeover;client_no_context_takeover": "permessage-deflate; client_no_context_takeover; server_no_context_takeover",
	} {
		for _, compress := range []bool{true, false} {
			s := open(t, socket.Options{Compress: compress}, func(context.Context, *socket.Conn) {})
			conn, header := s.handshake("Sec-WebSocket-Extensions: " + offer + "\r\n")
			require.NoError(t, conn.Close())
			if !compress {
				want = ""
			}
			assert.Equal(t, want, header.Get("Sec-WebSocket-Extensions"), "%q", offer)
		}
	}
}
