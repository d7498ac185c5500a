package rpc

import (
	"bytes"
	"net/http"

	"github.com/gin-contrib/sse"

	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/wire"
)

// message is an event on the wire.
type message struct {
	event  string
	data   any       // nil for a delta
	delta  textDelta // becomes data where it is encoded, because most readers get it from a cache
	shared bool      // it is the same for every reader, and the only one of its entry
}

// textDelta is a piece of a text.
type textDelta struct {
	of      blockKey
	agent   string // the sub-agent that says it
	content string
}

func (m message) isDelta() bool { return m.data == nil }

// fullBatch is how many bytes are collected before they are sent.
const fullBatch = 64 << 10

// eventCache has shared messages as server-sent events.
type eventCache = wire.Cache[journal.Position, []byte]

// writer writes server-sent events. The server limits the duration of a write.
type writer struct {
	to      http.ResponseWriter
	control *http.ResponseController
	cache   *eventCache
	shared  *wire.Deflater
	gzip    *wire.Gzip // for a client that accepts it; else nil
	pending bytes.Buffer
}

func newWriter(w http.ResponseWriter, cache *eventCache, shared *wire.Deflater) *writer {
	return &writer{to: w, control: http.NewResponseController(w), cache: cache, shared: shared}
}

// open sends the headers, which confirm the stream.
func (w *writer) open() error {
	h := w.to.Header()
	h.Set("Content-Type", sse.ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // else a proxy would gather events
	if w.gzip != nil {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
	}
	w.to.WriteHeader(http.StatusOK)
	return w.comment()
}

// close ends the stream.
func (w *writer) close() error {
	if w.gzip != nil {
		w.gzip.End(&w.pending)
	}
	return w.flush()
}

func (w *writer) comment() error {
	w.put([]byte(": \n\n"))
	return w.flush()
}

func (w *writer) add(at journal.Position, messages []message) error {
	return encodeEntry(w.cache, at, messages, encodeEvent, w.shared.Share, w.put)
}

// put adds an encoded event.
func (w *writer) put(e []byte) {
	if w.gzip != nil {
		w.gzip.Add(&w.pending, e)
	} else {
		w.pending.Write(e)
	}
}

// encodeEntry encodes the messages of an entry of the record, or takes them from the cache if every reader gets the same. The last
// one has the position: a client that gets some of them gets all again.
func encodeEntry[V ~[]byte](
	cache *wire.Cache[journal.Position, V], at journal.Position, messages []message,
	encode func(journal.Position, message) (V, error), share func([]byte), add func(V),
) error {
	for i, m := range messages {
		id := journal.Position{}
		if i == len(messages)-1 {
			id = at
		}
		var encoded V
		var err error
		if m.shared {
			encoded, err = cache.Get(id.N, id, func() (V, error) { return encode(id, m) })
		} else {
			encoded, err = encode(id, m)
		}
		if err != nil {
			return err
		}
		if m.shared {
			share(encoded) // also from the cache, which keeps it for longer
		}
		add(encoded)
	}
	return nil
}

// encodeEvent encodes a server-sent event.
func encodeEvent(at journal.Position, m message) ([]byte, error) {
	data, err := jsonrpc.Encode(m.payload())
	if err != nil {
		return nil, err
	}
	e := sse.Event{Event: " " + m.event, Data: " " + string(data)} // the IDE's parser needs the blanks
	if at != (journal.Position{}) {
		e.Id = " " + at.String()
	}
	var out bytes.Buffer
	err = sse.Encode(&out, e)
	return out.Bytes(), err
}

func (w *writer) isFull() bool { return w.pending.Len() >= fullBatch }

// flush sends what was added.
func (w *writer) flush() error {
	if w.pending.Len() == 0 {
		return nil
	}
	_, err := w.to.Write(w.pending.Bytes())
	w.pending.Reset()
	if err != nil {
		return err
	}
	return w.control.Flush()
}
