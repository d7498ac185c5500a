package store

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
)

const (
	segmentSize = 256 << 10 // approximate bytes of entries in one segment
	payloadSize = 4 << 10   // bytes from this size on are stored once, beside the segments
)

// The first byte of a segment is its encoding.
const (
	plain    = 0
	deflated = 1 // the uncompressed length follows
)

var (
	errSegment = errors.New("a segment is damaged")
	errPayload = errors.New("a payload is missing")
)

// entryPart is a part of an entry, in the segment or as a separate payload.
type entryPart struct {
	bytes []byte
	hash  []byte // hash of the payload; nil if the bytes are in the segment
}

// packedEntry is an entry as stored in a segment.
type packedEntry struct {
	number  uint64
	data    entryPart
	payload entryPart
}

// inline returns how many bytes a part takes in the segment.
func (p entryPart) inline() int {
	if p.hash != nil {
		return len(p.hash)
	}
	return len(p.bytes)
}

// names returns the hashes of an entry's payloads.
func (e packedEntry) names() []string {
	var names []string
	for _, p := range []entryPart{e.data, e.payload} {
		if p.hash != nil {
			names = append(names, string(p.hash))
		}
	}
	return names
}

func partOf(b []byte) entryPart {
	if len(b) < payloadSize {
		return entryPart{bytes: b}
	}
	hash := sha256.Sum256(b)
	return entryPart{bytes: b, hash: hash[:]}
}

func pack(e Entry) packedEntry {
	return packedEntry{number: e.Number, data: partOf(e.Data), payload: partOf(e.Payload)}
}

// stored is a segment in the file.
type stored struct {
	first, last uint64
	size        int  // uncompressed
	small       bool // depends on that size, because it determines the work of reading it
	data        []byte
}

// newSegment returns entries as a segment, which is compressed from a number of bytes on.
func newSegment(entries []packedEntry, compressFrom int) stored {
	data := encode(entries)
	s := stored{
		first: entries[0].number, last: entries[len(entries)-1].number, size: len(data), small: len(data) < segmentSize/2, data: data,
	}
	if s.size >= compressFrom {
		s.data = deflate(data)
	}
	return s
}

// encode returns entries as a segment.
func encode(entries []packedEntry) []byte {
	out := []byte{plain}
	before := uint64(0)
	for _, e := range entries {
		out = binary.AppendUvarint(out, e.number-before)
		out = appendPart(out, e.data)
		out = appendPart(out, e.payload)
		before = e.number
	}
	return out
}

func appendPart(out []byte, p entryPart) []byte {
	if p.hash != nil {
		return append(append(out, 1), p.hash...)
	}
	return append(binary.AppendUvarint(out, uint64(len(p.bytes))<<1), p.bytes...)
}

// deflate compresses a segment unless that makes it larger.
func deflate(segment []byte) []byte {
	body := segment[1:]
	var out bytes.Buffer
	out.Write(binary.AppendUvarint([]byte{deflated}, uint64(len(body))))
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return segment
	}
	if _, err := w.Write(body); err != nil || w.Close() != nil || out.Len() >= len(segment) {
		return segment
	}
	return out.Bytes()
}

// decode reads a segment. The parts share its memory.
func decode(segment []byte) ([]packedEntry, error) {
	body, err := inflate(segment)
	if err != nil {
		return nil, err
	}
	var entries []packedEntry
	for before := uint64(0); len(body) > 0; {
		var e packedEntry
		step, n := binary.Uvarint(body)
		if n <= 0 || step == 0 || before+step < before {
			return nil, errSegment
		}
		before += step
		e.number = before
		if e.data, body, err = readPart(body[n:]); err != nil {
			return nil, err
		}
		if e.payload, body, err = readPart(body); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func readPart(body []byte) (entryPart, []byte, error) {
	head, n := binary.Uvarint(body)
	if n <= 0 {
		return entryPart{}, nil, errSegment
	}
	body = body[n:]
	if head&1 == 1 {
		if head != 1 || len(body) < sha256.Size {
			return entryPart{}, nil, errSegment
		}
		return entryPart{hash: body[:sha256.Size:sha256.Size]}, body[sha256.Size:], nil
	}
	size := head >> 1
	if size > uint64(len(body)) {
		return entryPart{}, nil, errSegment
	}
	if size == 0 {
		return entryPart{}, body, nil
	}
	return entryPart{bytes: body[:size:size]}, body[size:], nil
}

func inflate(segment []byte) ([]byte, error) {
	if len(segment) == 0 || segment[0] > deflated {
		return nil, errSegment
	}
	if segment[0] == plain {
		return segment[1:], nil
	}
	size, n := binary.Uvarint(segment[1:])
	if n <= 0 || size > 4*segmentSize {
		return nil, errSegment
	}
	body := make([]byte, size)
	r := flate.NewReader(bytes.NewReader(segment[1+n:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, errSegment
	}
	if extra, err := r.Read(make([]byte, 1)); extra != 0 || err != io.EOF {
		return nil, errSegment
	}
	return body, nil
}
