package bench_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
)

// deflatedSocket reads the frames of a server that compresses them with context (RFC 7692), which gorilla/websocket does not.
type deflatedSocket struct {
	in       *bufio.Reader
	received []byte
}

// joinDeflated is joinSocket for a client that takes compressed frames.
func (c *crowd) joinDeflated(url string, requests ...string) {
	c.b.Helper()
	address, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	conn, err := c.dial(c.context, "tcp", address)
	require.NoError(c.b, err)
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", strings.TrimPrefix(url, "http://"+address), address)
	s := &deflatedSocket{in: bufio.NewReader(conn)}
	response, err := http.ReadResponse(s.in, nil)
	require.NoError(c.b, err)
	response.Body.Close()
	require.Contains(c.b, response.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate")
	for _, request := range requests {
		frame := binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(len(request)))
		_, err := conn.Write(append(append(frame, 0, 0, 0, 0), request...)) // a mask that changes nothing
		require.NoError(c.b, err)
	}
	r := c.join(func() { conn.Close() })
	receive := func() error {
		text, err := s.next()
		if err == nil {
			r.take(text, 1)
		}
		return err
	}
	require.NoError(c.b, receive())
	go r.repeat(receive)
}

// next returns the text of the next frame.
func (s *deflatedSocket) next() ([]byte, error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(s.in, head); err != nil {
		return nil, err
	}
	length := uint64(head[1])
	if length > 125 {
		wide := make([]byte, 8)
		at := wide[8-map[uint64]int{126: 2, 127: 8}[length]:]
		if _, err := io.ReadFull(s.in, at); err != nil {
			return nil, err
		}
		length = binary.BigEndian.Uint64(wide)
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(s.in, payload); err != nil || head[0]&0x40 == 0 {
		return payload, err
	}
	text, err := io.ReadAll(flate.NewReaderDict(io.MultiReader(bytes.NewReader(payload), bytes.NewReader([]byte{0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff})), s.received))
	s.received = append(s.received, text...)
	s.received = s.received[max(0, len(s.received)-32<<10):]
	return text, err
}
