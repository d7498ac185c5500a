package rpc

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/gin-contrib/sse"
)

// message is an event as it goes out.
type message struct {
	event string
	data  any
}

// fullBatch is how much is gathered before it is sent, in bytes.
const fullBatch = 64 << 10

// writer writes server-sent events. The server limits how long a write may take.
type writer struct {
	to      http.ResponseWriter
	control *http.ResponseController
	pending bytes.Buffer
}

func newWriter(w http.ResponseWriter) *writer {
	return &writer{to: w, control: http.NewResponseController(w)}
}

// open sends the headers, and with them that there is a stream.
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

// add encodes the events that stand for one entry of the record. The last one
// has its position: who gets a part of them gets all again.
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

// line is JSON on one line, with "<" as it is.
func line(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
