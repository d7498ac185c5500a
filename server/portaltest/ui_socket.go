package portaltest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/copilot-portal/portal/copilot/testclock"
)

// frames is a WebSocket of a UI.
type frames struct {
	conn    *websocket.Conn
	writing sync.Mutex
	ended   chan struct{}
	fault   error // valid once ended is closed
}

// UI opens a WebSocket at /ui. query is the query of its address, as in "cwd=/tmp"; header contains names and
// values in turn.
func (p *Portal) UI(query string, header ...string) *UI {
	p.t.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	url := "ws" + strings.TrimPrefix(p.URL, "http") + "/ui"
	if query != "" {
		url += "?" + query
	}
	conn, resp, err := websocket.DefaultDialer.DialContext(p.t.Context(), url, h)
	if err != nil {
		p.t.Fatalf("no WebSocket at %s: %v %v", url, err, resp)
	}
	_ = resp.Body.Close()
	p.t.Cleanup(func() { _ = conn.Close() })
	return newUI(p.t, &frames{conn: conn, ended: make(chan struct{})})
}

func (f *frames) send(line string) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.conn.WriteMessage(websocket.TextMessage, []byte(line))
}

func (f *frames) receive() (string, error) {
	kind, frame, err := f.conn.ReadMessage()
	switch {
	case err == nil && kind != websocket.TextMessage:
		err = errors.New("a frame is not text")
	case err == nil:
		return string(frame), nil
	case websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway):
		err = io.EOF
	}
	f.fault = err
	close(f.ended)
	return "", err
}

func (f *frames) closeInput() error {
	text := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	return f.conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(patience))
}

func (f *frames) wait(within time.Duration) (code int, err error) {
	if !testclock.Now().Wait(f.ended, within) {
		return -1, fmt.Errorf("the WebSocket was not closed within %v", within)
	}
	if errors.Is(f.fault, io.EOF) {
		return 0, nil
	}
	return 1, nil
}
