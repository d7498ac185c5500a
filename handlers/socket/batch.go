package socket

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"net/http"
	"strings"
	"sync"
)

const (
	// batchSize is about how many bytes are written at once.
	batchSize = 64 << 10
	// minDeflated is from which size on compressing is worth it.
	minDeflated = 1 << 10
)

// batches are buffers for what is written at once.
var batches = sync.Pool{New: func() any { return new([]byte) }} //nolint:gochecknoglobals // holds nothing

// SendAll writes frames of text, many at once, and returns when the system has taken them: so it waits while the client is slow. It fails
// with [ErrClosed] or [ErrGone]. Only one goroutine at a time may call it, and not on a connection on which [Conn.Send] is
// used: they know nothing of each other's frames.
func (c *Conn) SendAll(frames ...[]byte) error {
	select {
	case <-c.stopped:
		return c.err
	case <-c.credits: // which a close waits for
	}
	defer func() { c.credits <- struct{}{} }()
	select {
	case <-c.stopped: // both were there
		return c.err
	default:
	}
	buffer, _ := batches.Get().(*[]byte) // there is nothing else in it
	defer batches.Put(buffer)
	batch := (*buffer)[:0]
	for i, frame := range frames {
		batch = c.frame(batch, frame)
		if len(batch) < batchSize && i < len(frames)-1 {
			continue
		}
		if err := c.write(batch); err != nil {
			return err
		}
		batch = batch[:0]
	}
	*buffer = batch
	return nil
}

// write writes whole frames. What was written in part cannot be mended, so the connection ends.
func (c *Conn) write(batch []byte) error {
	err := c.wire.writeWithin(c.server.options.writeTimeout(len(batch)), batch)
	if err == nil {
		return nil
	}
	c.stop(gone(err))
	c.abort()
	return c.err
}

// frame appends a frame of text as RFC 6455 has it from a server: in one piece, and not masked.
func (c *Conn) frame(to, text []byte) []byte {
	const whole, deflated, textual = 0x80, 0x40, 0x1
	head := byte(whole | textual)
	if c.deflates && len(text) > minDeflated {
		head |= deflated
		text = deflate(text)
	}
	switch size := len(text); {
	case size < 126:
		to = append(to, head, byte(size))
	case size < 1<<16:
		to = binary.BigEndian.AppendUint16(append(to, head, 126), uint16(size))
	default:
		to = binary.BigEndian.AppendUint64(append(to, head, 127), uint64(size))
	}
	return append(to, text...)
}

// deflaters compress each message for itself: no memory is kept for a connection.
var deflaters = sync.Pool{New: func() any { //nolint:gochecknoglobals // holds nothing
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // fails for an unknown level only
	return w
}}

// deflate compresses a message as RFC 7692 has it.
func deflate(text []byte) []byte {
	w, _ := deflaters.Get().(*flate.Writer) // there is nothing else in it
	defer deflaters.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	_, _ = w.Write(text) // a buffer takes all
	_ = w.Flush()
	return bytes.TrimSuffix(out.Bytes(), []byte{0, 0, 0xff, 0xff})
}

// offersDeflate tells whether gorilla has agreed to compression, which it does not tell.
func offersDeflate(r *http.Request) bool {
	for _, line := range r.Header.Values("Sec-WebSocket-Extensions") {
		for offer := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(offer, ";")
			if strings.TrimSpace(name) == "permessage-deflate" {
				return true
			}
		}
	}
	return false
}
