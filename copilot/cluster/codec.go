package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/klauspost/compress/s2"

	"github.com/copilot-portal/portal/copilot/store"
)

// largePart is the size in bytes from which on a part of an entry is stored as an object, beside the log.
const largePart = 128 << 10

// errMessage reports a message that cannot be decoded.
var errMessage = errors.New("a message of the cluster's log is damaged, or was written by a newer version")

// The first byte of a message is its version. Objects of messages of the first version are named by their hash only.
const (
	firstVersion = 1
	version      = 2
	compressed   = 3 // what follows the first byte of a message of the version before
)

// Messages from compressFrom bytes on are compressed here: the servers would damage a compressed stream when they are killed.
const (
	compressFrom = 4 << 10
	maxMessage   = 64 << 20 // bytes, uncompressed
)

// objectName returns the name of the object with a part of an entry.
func objectName(subject string, hash []byte) string {
	return store.ObjectName(subject, hex.EncodeToString(hash))
}

// encode returns a change as a message: its version, its head as JSON, then its entries in binary form. A large message is compressed.
func (n *Node) encode(ctx context.Context, c store.Change) ([]byte, error) {
	head, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	out := binary.AppendUvarint([]byte{version}, uint64(len(head)))
	out = append(out, head...)
	before := uint64(0)
	for _, e := range c.Entries {
		out = binary.AppendUvarint(out, e.Number-before)
		before = e.Number
		for _, part := range [][]byte{e.Data, e.Payload} {
			if out, err = n.appendPart(ctx, out, part, c.Subject); err != nil {
				return nil, err
			}
		}
	}
	if len(out) < compressFrom {
		return out, nil
	}
	return append([]byte{compressed}, s2.Encode(nil, out[1:])...), nil
}

// decompress returns a message that is not compressed.
func decompress(data []byte) ([]byte, error) {
	if len(data) == 0 || data[0] != compressed {
		return data, nil
	}
	if n, err := s2.DecodedLen(data[1:]); err != nil || n > maxMessage {
		return nil, errMessage
	}
	body, err := s2.Decode(nil, data[1:])
	if err != nil {
		return nil, errors.Join(errMessage, err)
	}
	return append([]byte{version}, body...), nil
}

// appendPart appends a part of an entry, or the name of the object that has it. The lowest bit of its length tells.
func (n *Node) appendPart(ctx context.Context, out, part []byte, subject string) ([]byte, error) {
	if len(part) < largePart {
		return append(binary.AppendUvarint(out, uint64(len(part))<<1), part...), nil
	}
	sum := sha256.Sum256(part)
	ctx, cancel := context.WithTimeout(ctx, appendTime)
	defer cancel()
	if err := n.log.Put(ctx, objectName(subject, sum[:]), part); err != nil {
		return nil, err
	}
	return append(append(out, byte(len(sum)<<1|1)), sum[:]...), nil
}

// DecodeHead returns the change of a message of the log, and its entries in binary form.
func DecodeHead(data []byte) (c store.Change, entries []byte, err error) {
	if data, err = decompress(data); err != nil {
		return c, nil, err
	}
	if len(data) == 0 || data[0] < firstVersion || data[0] > version {
		return c, nil, errMessage
	}
	head, entries, ok := cut(data[1:])
	if !ok {
		return c, nil, errMessage
	}
	if err := json.Unmarshal(head, &c); err != nil {
		return c, nil, errors.Join(errMessage, err)
	}
	return c, entries, nil
}

// decode returns the change of a message.
func (n *Node) decode(ctx context.Context, data []byte) (store.Change, error) {
	c, rest, err := DecodeHead(data)
	if err != nil {
		return c, err
	}
	subject := c.Subject
	if data[0] == firstVersion {
		subject = ""
	}
	for before := uint64(0); len(rest) > 0; {
		var e store.Entry
		step, length := binary.Uvarint(rest)
		if length <= 0 {
			return c, errMessage
		}
		before += step
		e.Number = before
		if e.Data, rest, err = n.readPart(ctx, rest[length:], subject); err != nil {
			return c, err
		}
		if e.Payload, rest, err = n.readPart(ctx, rest, subject); err != nil {
			return c, err
		}
		c.Entries = append(c.Entries, e)
	}
	return c, nil
}

// cut returns the bytes that follow their length, and the rest.
func cut(data []byte) (part, rest []byte, ok bool) {
	size, length := binary.Uvarint(data)
	if length <= 0 {
		return nil, nil, false
	}
	data = data[length:]
	if size > uint64(len(data)) {
		return nil, nil, false
	}
	return data[:size], data[size:], true
}

func (n *Node) readPart(ctx context.Context, data []byte, subject string) (part, rest []byte, err error) {
	size, length := binary.Uvarint(data)
	if length <= 0 {
		return nil, nil, errMessage
	}
	data = data[length:]
	if size>>1 > uint64(len(data)) {
		return nil, nil, errMessage
	}
	part, rest = data[:size>>1], data[size>>1:]
	switch {
	case size&1 == 1:
		part, err = n.log.Get(ctx, objectName(subject, part))
	case len(part) == 0:
		part = nil
	}
	return part, rest, err
}
