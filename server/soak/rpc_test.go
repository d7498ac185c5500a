package soak_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// streamEvent is an event of a stream, or of a WebSocket at /rpc.
type streamEvent struct {
	ID    string
	Event string
	Data  struct {
		Type, Role, Content, MessageID, CallID, RequestID, Status, Data, Reason string
		Delta                                                                   bool
	}
}

func openRPC(ctx context.Context, h *host, dir string) (session string, err error) {
	var r struct {
		SessionID string `json:"sessionId"`
	}
	err = h.rpc(ctx, "session.create", document{
		"model": "demo", "workingDirectory": dir, "interactive": true, "permissions": document{"exec.run": "ask"},
	}, &r)
	return r.SessionID, err
}

func promptRPC(ctx context.Context, h *host, session, text string) error {
	return h.rpc(ctx, "session.send", document{"sessionId": session, "prompt": text}, nil)
}

func answerRPC(ctx context.Context, w *watcher, question string) {
	_ = w.host.rpc(ctx, "question.answer", document{"sessionId": w.session, "requestId": question, "approved": true}, nil) // asked again by the next connection
}

// rpc calls a method by HTTP.
func (h *host) rpc(ctx context.Context, method string, params document, result any) error {
	body, err := json.Marshal(document{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	var r reply
	if err := h.post(ctx, "/rpc", string(body), &r); err != nil {
		return err
	}
	return r.decode(result)
}

// reply is a JSON-RPC message.
type reply struct {
	ID     any
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message, Data string }
}

// decode decodes the result unless it is nil.
func (r reply) decode(result any) error {
	switch {
	case r.Error != nil:
		return fmt.Errorf("%w: %s: %s", errRefused, r.Error.Message, r.Error.Data)
	case result == nil:
		return nil
	}
	return json.Unmarshal(r.Result, result)
}

// readStream reads /stream with Last-Event-ID.
func readStream(ctx context.Context, w *watcher) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.host.url+"/stream/"+w.session, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Last-Event-ID", w.after())
	resp, err := w.host.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	lines, group := bufio.NewScanner(resp.Body), eventGroup{}
	lines.Buffer(nil, 4<<20)
	var e streamEvent
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "id":
			e.ID = value
		case name == "event":
			e.Event = value
		case name == "data":
			if err := json.Unmarshal([]byte(value), &e.Data); err != nil {
				return err
			}
		case name == "" && e.Event != "":
			group.take(ctx, w, e)
			e = streamEvent{}
		}
	}
	return lines.Err()
}

// after returns the position of a reader of a stream.
func (w *watcher) after() string {
	if w.position == "" {
		return "0-0"
	}
	return w.position
}

// readSocket reads the events on a WebSocket at /rpc.
func readSocket(ctx context.Context, w *watcher) error {
	conn, err := w.host.dial(ctx, "/rpc")
	if err != nil {
		return err
	}
	defer conn.close()
	if err := conn.send(document{
		"jsonrpc": "2.0", "id": 1, "method": "session.subscribe", "params": document{"sessionId": w.session, "lastEventId": w.after()},
	}); err != nil {
		return err
	}
	group := eventGroup{}
	for {
		r, err := conn.receive()
		if err != nil {
			return err
		}
		if r.Error != nil {
			return errors.New(r.Error.Message)
		}
		if r.Method != "session.event" {
			continue
		}
		var e streamEvent
		if err := json.Unmarshal(r.Params, &e); err != nil {
			return err
		}
		group.take(ctx, w, e)
	}
}

func promptSocket(ctx context.Context, h *host, session, text string) error {
	conn, err := h.dial(ctx, "/rpc")
	if err != nil {
		return errors.Join(errRefused, err)
	}
	defer conn.close()
	return conn.ask("session.send", document{"sessionId": session, "prompt": text}, nil)
}

// eventGroup holds events without an id: they count with the next one that has an id.
type eventGroup []streamEvent

func (g *eventGroup) take(ctx context.Context, w *watcher, e streamEvent) {
	if e.ID == "" && e.Event != "gap" {
		*g = append(*g, e)
		return
	}
	for _, one := range append(*g, e) {
		w.takeEvent(ctx, one)
	}
	*g = nil
	if e.ID != "" {
		w.position = e.ID
	}
}

func (w *watcher) takeEvent(ctx context.Context, e streamEvent) {
	d := e.Data
	switch e.Event {
	case "timeline.message":
		w.takeText(d.Type, d.MessageID, d.Content, d.Delta)
	case "timeline.toolCall":
		if d.Status == "running" {
			w.learn("call " + d.CallID)
		} else {
			w.learn("result " + d.CallID)
		}
	case "tool.approval":
		w.learn("asked " + d.RequestID)
		w.ask(ctx, d.RequestID)
	case "question.answered":
		delete(w.open, d.RequestID)
		w.learn("answered " + d.RequestID)
	case "error":
		w.learn("error " + firstLine(d.Data))
	case "done":
		w.learn("end " + d.MessageID + " " + d.Status)
	case "gap":
		w.takeGap(d.MessageID, d.Reason)
	}
}

func (w *watcher) takeText(kind, id, content string, delta bool) {
	if kind == "prompt" {
		w.learn("prompt " + id + " " + content)
		return
	}
	if kind == "text" {
		kind = "message"
	}
	w.hear(kind+" "+id, content)
	if !delta {
		w.learn("said " + kind + " " + id)
	}
}

// takeGap handles a gap: a text follows again as a whole, or the portal was killed before it stored the last events. Any
// other is a loss.
func (w *watcher) takeGap(text, reason string) {
	switch {
	case text != "":
		w.forget("message " + text)
		w.forget("reasoning " + text)
	case reason == "the last events before the portal ended were lost":
		w.startPiece()
	default:
		w.learn("gap " + reason)
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
