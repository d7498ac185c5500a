package socket

import (
	"encoding/binary"
	"sync"
)

// batchSize is from how many bytes on a batch is written.
const batchSize = 64 << 10

// batches are buffers for frames that are written together.
var batches = sync.Pool{New: func() any { return new([]byte) }} //nolint:gochecknoglobals // holds nothing

// Send writes frames of text, with one system call for about every 64 KiB, and returns when the system has taken them: it
// waits while the client is slow. The frames of one call stay together. Errors: [ErrClosed], [ErrGone].
func (c *Conn) Send(frames ...[]byte) error {
	select {
	case <-c.stopped:
		return c.err
	case c.sending <- struct{}{}:
	}
	defer func() { <-c.sending }()
	select {
	case <-c.stopped: // both were ready
		return c.err
	default:
	}
	buffer, _ := batches.Get().(*[]byte) // the pool has nothing else
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

// write writes whole frames. If it fails, a part of a frame may be written, so the connection ends.
func (c *Conn) write(batch []byte) error {
	err := c.wire.writeAll(c.server.options.WriteTimeout, batch)
	if err == nil {
		return nil
	}
	c.stop(gone(err))
	c.abort()
	return c.err
}

// frame appends an unfragmented, unmasked text frame (RFC 6455).
func (c *Conn) frame(to, text []byte) []byte {
	const textual = 0x1
	head := byte(bitFinal | textual)
	if packed := c.pack(text); packed != nil {
		head |= bitCompressed
		text = packed
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
