package rpc

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/gin-contrib/sse"
)

// message is an event on the wire.
type message struct {
	event string
	data  any
}

// fullBatch is how many bytes are collected before they are sent.
const fullBatch = 64 << 10

// writer writes server-sent events. The server limits the duration of a write.
type writer struct {
	to      http.ResponseWriter
	control *http.ResponseController
	pending bytes.Buffer
}

func newWriter(w http.ResponseWriter) *writer {
	return &writer{to: w, control: http.NewResponseController(w)}
}

// open sends the headers, which confirm the stream.
func (w *writer) open() error {
	h := w.to.Header()
	h.Set("Content-Type", sse.ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // else a proxy would gather events
	w.to.WriteHeader(http.StatusOK)
	return w.comment()
}

func (w *writer) comment() error {
	w.pending.WriteString(": \n\n")
	return w.flush()
}

// add encodes the events of one entry of the record. The last one has its position: a client that
// gets some of them gets all again.
func (w *writer) add(id string, messages []message) error {
	for i, m := range messages {
		data, err := line(m.data)
		if err != nil {
			return err
		}
		e := sse.Event{Event: " " + m.event, Data: " " + string(data)} // the IDE's parser needs the blanks
		if id != "" && i == len(messages)-1 {
			e.Id = " " + id
		}
		if err := sse.Encode(&w.pending, e); err != nil {
			return err
		}
	}
	return nil
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

// line returns JSON on one line, without escaping "<".
func line(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
