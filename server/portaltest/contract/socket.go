package contract

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// Socket is a WebSocket of a client. It validates what it reads and writes by the contract of its path.
type Socket struct {
	*websocket.Conn

	tb    testing.TB
	talks *Conversation // nil if the path has no JSON-RPC
	watch bool          // an operation
	shell bool          // a terminal
}

// NewSocket returns a socket at an address or a path.
func NewSocket(tb testing.TB, conn *websocket.Conn, address string) *Socket {
	tb.Helper()
	s := &Socket{Conn: conn, tb: tb}
	at, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	for _, path := range []string{"/ui", "/rpc"} {
		if strings.HasSuffix(at.Path, path) {
			s.talks = Talk(tb, path)
		}
	}
	s.shell = strings.Contains(at.Path, "/terminal/")
	s.watch = strings.HasSuffix(at.Path, "/ws")
	return s
}

// ReadMessage is that of the connection.
func (s *Socket) ReadMessage() (kind int, frame []byte, err error) {
	kind, frame, err = s.Conn.ReadMessage()
	if err != nil {
		return kind, frame, err
	}
	s.tb.Helper()
	if s.talks != nil {
		s.talks.Received(frame)
	}
	if s.watch {
		if err := CheckFrame(frame); err != nil {
			s.tb.Errorf("spec/operations.asyncapi.yaml: %v", err)
		}
	}
	if s.shell {
		if err := CheckTerminal(frame, false); err != nil {
			s.tb.Errorf("spec/streams.asyncapi.yaml: %v", err)
		}
	}
	return kind, frame, err
}

// ReadJSON decodes the next message.
func (s *Socket) ReadJSON(into any) error {
	s.tb.Helper()
	_, frame, err := s.ReadMessage()
	if err != nil {
		return err
	}
	return json.Unmarshal(frame, into)
}

// WriteMessage is that of the connection.
func (s *Socket) WriteMessage(kind int, frame []byte) error {
	s.tb.Helper()
	if s.talks != nil && kind == websocket.TextMessage {
		s.talks.Sent(frame)
	}
	if s.shell && kind == websocket.TextMessage {
		if err := CheckTerminal(frame, true); err != nil {
			s.tb.Errorf("spec/streams.asyncapi.yaml: %v", err)
		}
	}
	return s.Conn.WriteMessage(kind, frame)
}

// WriteJSON sends a message.
func (s *Socket) WriteJSON(value any) error {
	s.tb.Helper()
	frame, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.WriteMessage(websocket.TextMessage, frame)
}
