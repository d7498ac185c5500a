package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
)

// Gzip writes a stream of texts in the format of gzip (RFC 1952), so that each can be read when it arrives. Shared texts are
// compressed once for all streams. It is used by one goroutine.
type Gzip struct {
	shared *Deflater
	begun  bool
	before []byte // the last text, if it is shared
	sum    uint32
	size   uint32
}

// NewGzip returns a stream whose shared texts are those of a [Deflater].
func NewGzip(shared *Deflater) *Gzip { return &Gzip{shared: shared} }

// Add appends the form of a text. A shared text must stay as it is.
func (z *Gzip) Add(to *bytes.Buffer, text []byte) {
	z.begin(to)
	form := z.shared.After(z.before, text)
	z.before = text
	if form == nil {
		form, z.before = Deflate(nil, text), nil
	}
	to.Write(form)
	z.sum = crc32.Update(z.sum, crc32.IEEETable, text)
	z.size += uint32(len(text)) //nolint:gosec // modulo 2^32, as the format wants it
}

func (z *Gzip) begin(to *bytes.Buffer) {
	if !z.begun {
		z.begun = true
		to.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff})
	}
}

// End appends the end of the stream.
func (z *Gzip) End(to *bytes.Buffer) {
	z.begin(to)
	end := binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0xff, 0xff}, z.sum) // behind an empty last block
	to.Write(binary.LittleEndian.AppendUint32(end, z.size))
}

// AcceptsGzip reports whether the client of a request accepts gzip.
func AcceptsGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, params, _ := strings.Cut(one, ";")
		if strings.TrimSpace(name) == "gzip" {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(params), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}
