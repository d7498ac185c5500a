package server

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
)

const (
	maxHead = 64 << 10
	// readAhead bounds what net/http may read beyond a head or a body.
	readAhead = 8 << 10
)

// head keeps the latest bytes received on a connection, which contain the head of the current request. It is
// needed because net/http does not tell handlers that a request had Content-Length as well as
// Transfer-Encoding. It is safe for concurrent use.
type head struct {
	mu     sync.Mutex
	recent []byte
	inBody bool // a handler is running
}

func (h *head) add(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	limit := maxHead + readAhead
	if h.inBody {
		limit = readAhead
	}
	if len(b) >= limit {
		h.recent = append(h.recent[:0], b[len(b)-limit:]...)
		return
	}
	h.recent = append(h.recent, b...)
	if over := len(h.recent) - limit; over > 0 {
		h.recent = append(h.recent[:0], h.recent[over:]...)
	}
}

// begin marks the start of a handler and reports whether its request has both headers. Bytes that were read
// ahead are kept, because they may be the next head.
func (h *head) begin(r *http.Request) (ambiguous bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ambiguous = mayHaveBothLengths(r) && hasBothLengths(h.recent, r.Method+" "+r.RequestURI+" "+r.Proto)
	ahead := h.recent[max(0, len(h.recent)-readAhead):]
	if cap(h.recent) > 2*readAhead {
		h.recent = bytes.Clone(ahead) // releases the memory of a large head
	} else {
		h.recent = append(h.recent[:0], ahead...)
	}
	h.inBody = true
	return ambiguous
}

// mayHaveBothLengths reports whether net/http may have dropped a header of this request: Content-Length if the body is
// chunked, Transfer-Encoding before HTTP/1.1.
func mayHaveBothLengths(r *http.Request) bool {
	return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1)
}

// end marks the end of a handler; a head comes next.
func (h *head) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inBody = false
}

// drop frees the bytes of a connection on which no request follows.
func (h *head) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recent = nil
}

// hasBothLengths reports whether recent contains a head that starts with the line first and gives the length
// of its body in both ways.
func hasBothLengths(recent []byte, first string) bool {
	for {
		_, rest, found := bytes.Cut(recent, []byte(first))
		if !found {
			return false
		}
		if names := namesOf(rest); names["content-length"] && names["transfer-encoding"] {
			return true
		}
		recent = rest
	}
}

// namesOf returns the names of the headers after the first line of a head.
func namesOf(head []byte) map[string]bool {
	names := map[string]bool{}
	_, head, _ = bytes.Cut(head, []byte("\n"))
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, _, _ := bytes.Cut(line, []byte(":"))
		names[strings.ToLower(string(name))] = true
	}
	return names
}
