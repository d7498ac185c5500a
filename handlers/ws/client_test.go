package ws_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// pipes is a network of in-memory pipes.
type pipes struct {
	waiting chan net.Conn
	closed  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.waiting <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.waiting:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// message is a message of the contract.
type message struct {
	ID        string         `json:"id"`
	Operation string         `json:"operation_id"`
	Sequence  int            `json:"sequence"`
	Type      string         `json:"type"`
	Content   string         `json:"content"`
	Time      time.Time      `json:"timestamp"`
	Sender    string         `json:"sender"`
	Metadata  map[string]any `json:"metadata"`
}

// client is a WebSocket client.
type client struct {
	*contract.Socket

	tb testing.TB
}

// try connects, or returns the answer if that fails.
func (s *site) try(path string, d websocket.Dialer, header http.Header) (*client, reply) {
	s.tb.Helper()
	d.NetDialContext, d.Proxy = s.dial, nil
	conn, answer, err := d.Dial("ws://"+s.address+path, header)
	if !errors.Is(err, websocket.ErrBadHandshake) {
		require.NoError(s.tb, err)
	}
	defer answer.Body.Close()
	text, readErr := io.ReadAll(answer.Body)
	require.NoError(s.tb, readErr)
	r := reply{answer.StatusCode, answer.Header, string(text)}
	if err != nil {
		return nil, r
	}
	return &client{contract.NewSocket(s.tb, conn, path), s.tb}, r
}

// watch connects to an operation.
func (s *site) watch(id string, query ...string) *client {
	s.tb.Helper()
	c, answer := s.try(s.path(append([]string{"operation_id", id}, query...)...), websocket.Dialer{}, nil)
	require.NotNil(s.tb, c, answer)
	return c
}

// next returns the next message and checks its form (spec/contracts/websocket.md, "Field Definitions").
func (c *client) next() message {
	c.tb.Helper()
	_, text, err := c.ReadMessage()
	require.NoError(c.tb, err)
	return read(c.tb, text)
}

func read(tb testing.TB, text []byte) message {
	tb.Helper()
	var m message
	require.NoError(tb, json.Unmarshal(text, &m), "%s", text)
	assert.NoError(tb, uuid.Validate(m.ID), "%s", text)
	assert.NotEmpty(tb, m.Operation)
	assert.Contains(tb, []string{"thinking", "execution", "error", "complete", "system"}, m.Type)
	assert.Contains(tb, []string{"copilot", "system"}, m.Sender)
	assert.NotEmpty(tb, m.Content)
	assert.LessOrEqual(tb, len(m.Content), 10<<10)
	assert.False(tb, m.Time.IsZero())
	assert.Equal(tb, m.Type == "system", m.Sequence < 0, "%s", text)
	return m
}

// expect expects messages, each given as sequence and content.
func (c *client) expect(want ...any) {
	c.tb.Helper()
	for i := 0; i < len(want); i += 2 {
		m := c.next()
		got := []any{m.Sequence, m.Content}
		assert.Equal(c.tb, want[i:i+2], got)
	}
}

// end reads to the end and returns the messages and the close code.
func (c *client) end() (all []message, code int) {
	c.tb.Helper()
	for {
		_, text, err := c.ReadMessage()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			_ = c.Close()
			return all, closed.Code
		}
		require.NoError(c.tb, err)
		all = append(all, read(c.tb, text))
	}
}

// contiguous expects messages with the sequences first to last.
func contiguous(tb testing.TB, all []message, first, last int) {
	tb.Helper()
	require.Len(tb, all, last-first+1)
	for i, m := range all {
		require.Equal(tb, first+i, m.Sequence)
	}
}
