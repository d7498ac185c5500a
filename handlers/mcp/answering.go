package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// answering is a transport whose input ends only when every request is answered: from then on, the SDK refuses to write responses.
type answering struct {
	sdk.Transport

	end func() // ends what requests wait for; called when the client sends no more
}

// Connect connects the transport.
func (t answering) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeringConnection{Connection: c, gone: ctx.Done(), end: t.end, requests: map[jsonrpc.ID]bool{}, changed: make(chan struct{}, 1)}, nil
}

// answeringConnection is a connection of [answering].
type answeringConnection struct {
	sdk.Connection

	gone <-chan struct{} // closed when nothing can be answered any more
	end  func()

	mu       sync.Mutex
	broken   bool                // nothing can be written any more
	requests map[jsonrpc.ID]bool // that are not answered
	changed  chan struct{}       // holds a token after a write
}

// Read reads a message. At the end, it waits for the answers.
func (c *answeringConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.end()
		c.awaitAnswers()
		return nil, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		c.requests[r.ID] = true
		c.mu.Unlock()
	}
	return m, nil
}

// Write writes a message.
func (c *answeringConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := m.(*jsonrpc.Response); ok {
		delete(c.requests, r.ID)
	}
	c.broken = c.broken || err != nil && ctx.Err() == nil
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return err
}

// awaitAnswers waits until every request is answered, if that is possible.
func (c *answeringConnection) awaitAnswers() {
	for c.waits() {
		select {
		case <-c.changed:
		case <-c.gone:
			return
		}
	}
}

func (c *answeringConnection) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests) > 0 && !c.broken
}
