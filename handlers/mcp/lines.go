package mcp

import (
	"context"
	"errors"
	"io"
	"sync"

	protocol "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// lineTransport has one message per line. It answers lines that are no message, and its input ends only when every request is answered:
// from then on, the SDK refuses to write responses.
type lineTransport struct {
	lines *jsonrpc.Lines
	end   func() // ends what requests wait for; called when the client sends no more
}

// newLineTransport returns a transport on two streams, which its connection closes.
func newLineTransport(in io.ReadCloser, out io.WriteCloser, end func()) lineTransport {
	return lineTransport{jsonrpc.NewLines(in, out, jsonrpc.LineOptions{Max: MaxMessage}), end}
}

// Connect connects the transport.
func (t lineTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	return &lineConnection{lines: t.lines, end: t.end, gone: ctx.Done(), requests: map[protocol.ID]bool{}, changed: make(chan struct{}, 1)}, nil
}

// lineConnection is a connection of [lineTransport].
type lineConnection struct {
	lines *jsonrpc.Lines
	end   func()
	gone  <-chan struct{} // closed when nothing can be answered any more

	mu       sync.Mutex
	broken   bool                 // nothing can be written any more
	requests map[protocol.ID]bool // that are not answered
	changed  chan struct{}        // holds a token after a write
}

// Read reads a message. At the end, it waits for the answers.
func (c *lineConnection) Read(ctx context.Context) (protocol.Message, error) {
	for {
		line, err := jsonrpc.ReadSingle(c.lines)
		if err != nil {
			c.end()
			c.awaitAnswers(ctx)
			if errors.Is(err, io.ErrClosedPipe) { // by Close
				err = io.EOF
			}
			return nil, err
		}
		m, err := protocol.DecodeMessage(line)
		if err != nil {
			continue // a response to no request, such as an error without an id
		}
		if r, ok := m.(*protocol.Request); ok && r.IsCall() {
			c.mu.Lock()
			c.requests[r.ID] = true
			c.mu.Unlock()
		}
		return m, nil
	}
}

// Write writes a message.
func (c *lineConnection) Write(ctx context.Context, m protocol.Message) error {
	err := c.write(ctx, m)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := m.(*protocol.Response); ok {
		delete(c.requests, r.ID)
	}
	c.broken = c.broken || err != nil && ctx.Err() == nil
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return err
}

func (c *lineConnection) write(ctx context.Context, m protocol.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := protocol.EncodeMessage(m)
	if err != nil {
		return err
	}
	return c.lines.Write([][]byte{line})
}

// awaitAnswers waits until every request is answered, if that is possible.
func (c *lineConnection) awaitAnswers(ctx context.Context) {
	for c.waits() {
		select {
		case <-c.changed:
		case <-c.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c *lineConnection) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests) > 0 && !c.broken
}

// Close closes the streams.
func (c *lineConnection) Close() error { return c.lines.Close() }

// SessionID returns "": a client on streams has no other connection.
func (*lineConnection) SessionID() string { return "" }
