package socket

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
)

// Bits of the head of a frame (RFC 6455).
const (
	bitFinal      = 0x80
	bitCompressed = 0x40
	bitMasked     = 0x80
	bitControl    = 0x08
	opcodes       = 0x0f
)

// inflater reads the frames of a client and replaces compressed messages by what they say. gorilla would inflate a message to any
// size before anybody could refuse it; here, one that becomes longer than allowed is refused as any other.
type inflater struct {
	from *bufio.Reader
	most int64 // the longest message, in bytes

	next   bytes.Reader // to be read first
	passed int64        // bytes that are read from the client unchanged after it

	opcode byte         // of the compressed message whose frames are being read; 0 for none
	packed bytes.Buffer // those so far
}

func newInflater(from io.Reader, most int64) *inflater {
	return &inflater{from: bufio.NewReaderSize(from, 1<<10), most: most}
}

// Read implements [io.Reader]. Frames that are not compressed, and all that gorilla refuses, pass unchanged.
func (i *inflater) Read(b []byte) (int, error) {
	for i.next.Len() == 0 && i.passed == 0 {
		if err := i.frame(); err != nil {
			return 0, err
		}
	}
	if i.next.Len() > 0 {
		return i.next.Read(b)
	}
	n, err := i.from.Read(b[:min(int64(len(b)), i.passed)])
	i.passed -= int64(n)
	return n, err
}

// frame reads a head, and the rest of a frame that is compressed.
func (i *inflater) frame() error {
	head, size, err := i.head()
	if err != nil {
		return err
	}
	begins, compressed := head[0]&opcodes != 0, head[0]&bitCompressed != 0
	switch {
	case head[0]&bitControl != 0, i.opcode == 0 && (!begins || !compressed):
		i.next.Reset(head)
		i.passed = size
		return nil
	case head[1]&bitMasked == 0, i.opcode != 0 && (begins || compressed):
		return errors.New("a compressed message is not framed as it should be")
	case begins:
		i.opcode = head[0] & opcodes
	}
	if size > i.most-int64(i.packed.Len()) {
		i.replace(nil, i.most+1)
		return nil
	}
	if err := i.unmask(head[len(head)-4:], size); err != nil {
		return err
	}
	if head[0]&bitFinal != 0 {
		return i.inflate()
	}
	return nil
}

// head reads the head of a frame, and returns it with the size of the rest.
func (i *inflater) head() (head []byte, size int64, err error) {
	head = make([]byte, 2, 14)
	if _, err := io.ReadFull(i.from, head); err != nil {
		return nil, 0, err
	}
	length := 0
	switch head[1] &^ bitMasked {
	case 126:
		length = 2
	case 127:
		length = 8
	}
	rest := length
	if head[1]&bitMasked != 0 {
		rest += 4
	}
	head = head[:2+rest]
	if _, err := io.ReadFull(i.from, head[2:]); err != nil {
		return nil, 0, err
	}
	switch length {
	case 2:
		return head, int64(binary.BigEndian.Uint16(head[2:])), nil
	case 8:
		size = int64(binary.BigEndian.Uint64(head[2:]) & (1<<63 - 1)) // gorilla refuses longer ones
		return head, size, nil
	}
	return head, int64(head[1] &^ bitMasked), nil
}

// unmask adds the rest of a frame to the compressed message.
func (i *inflater) unmask(key []byte, size int64) error {
	begin := i.packed.Len()
	if _, err := io.CopyN(&i.packed, i.from, size); err != nil {
		return err
	}
	for at, text := 0, i.packed.Bytes()[begin:]; at < len(text); at++ {
		text[at] ^= key[at%4]
	}
	return nil
}

// inflate puts what the compressed message says in its place.
func (i *inflater) inflate() error {
	i.packed.WriteString("\x00\x00\xff\xff\x01\x00\x00\xff\xff") // the end that all messages have, and the last block
	inflated := flate.NewReader(&i.packed)
	text, err := io.ReadAll(io.LimitReader(inflated, i.most+1))
	if err != nil {
		return errors.New("a compressed message cannot be read")
	}
	if size := int64(len(text)); size > i.most {
		i.replace(nil, size)
	} else {
		i.replace(text, size)
	}
	return nil
}

// replace puts a frame in the place of the compressed message. If the size is more than allowed, its head is enough to refuse it.
func (i *inflater) replace(text []byte, size int64) {
	frame := append(make([]byte, 0, len(text)+14), bitFinal|i.opcode, bitMasked|127)
	frame = binary.BigEndian.AppendUint64(frame, uint64(size)) //nolint:gosec // not negative
	frame = append(frame, 0, 0, 0, 0)                          // a mask that changes nothing
	i.next.Reset(append(frame, text...))
	i.opcode, i.packed = 0, bytes.Buffer{}
}
