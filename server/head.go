package server

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
)

const (
	maxHead = 64 << 10
	// readAhead is what net/http may read beyond a head or a body, and a bit more.
	readAhead = 8 << 10
)

// head keeps what came last over a connection, in which the head of the present
// request is. net/http hides from handlers that a request had Content-Length besides
// Transfer-Encoding.
type head struct {
	mu     sync.Mutex
	recent []byte
	inBody bool // a handler is at work
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

// begin says that a handler begins, and tells whether its request has both headers.
// What was read ahead may be the next head.
func (h *head) begin(r *http.Request) (ambiguous bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ambiguous = hasBothLengths(h.recent, r.Method+" "+r.RequestURI+" "+r.Proto)
	h.recent = bytes.Clone(h.recent[max(0, len(h.recent)-readAhead):])
	h.inBody = true
	return ambiguous
}

// end says that the handler has ended, so that a head comes next.
func (h *head) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inBody = false
}

// hasBothLengths tells whether there is a head that begins with a line and says in
// two ways how long its body is.
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

// namesOf are the names of the headers behind the first line of a head.
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
