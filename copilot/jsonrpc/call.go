package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
)

// calls are those of ours that have no answer yet, by their ids as they were sent.
type calls struct {
	prefix string
	count  atomic.Uint64

	mu   sync.Mutex
	open map[string]chan<- *answer
	err  error // why there can be no more
}

// Call asks the peer for something and reads the result into a pointer, unless that is nil. It waits while too much is
// unsent, and then for the answer. Its errors are an [Error] if the peer refuses, [ErrGone] or [ErrClosed] if there can be no
// answer, and ctx.Err(); the peer is not told of that, and an answer that comes later is ignored.
func (p *Peer) Call(ctx context.Context, method string, params, result any) error {
	return p.CallAs(ctx, p.NextID(), method, params, result)
}

// NextID returns an id for [Peer.CallAs] that no other call has.
func (p *Peer) NextID() json.RawMessage {
	n := strconv.FormatUint(p.calls.count.Add(1), 10)
	if p.calls.prefix == "" {
		return json.RawMessage(n)
	}
	id, _ := encode(p.calls.prefix + n) // a string always can be
	return id
}

// CallAs is [Peer.Call] with an id that the caller knows before, because notifications will name it.
func (p *Peer) CallAs(ctx context.Context, id json.RawMessage, method string, params, result any) error {
	if waitsForItself(ctx, p) {
		return ErrInOrder
	}
	pending, err := p.BeginAs(ctx, id, method, params)
	if err != nil {
		return err
	}
	return pending.Await(ctx, result)
}

// Begin is the first half of [Peer.Call]: when it returns, the request is in the queue, behind what was sent before. Who
// begins a call has to await its answer.
func (p *Peer) Begin(ctx context.Context, method string, params any) (*Pending, error) {
	return p.BeginAs(ctx, p.NextID(), method, params)
}

// BeginAs is [Peer.Begin] with an id that the caller knows before, see [Peer.CallAs].
func (p *Peer) BeginAs(ctx context.Context, id json.RawMessage, method string, params any) (*Pending, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	raw, err := encodeCall(id, method, params)
	if err != nil {
		return nil, err
	}
	answered, err := p.calls.begin(id)
	if err != nil {
		return nil, err
	}
	if err := p.queue.push(ctx, raw, p.options.Queue); err != nil {
		p.calls.end(id)
		return nil, err
	}
	return &Pending{p, id, answered}, nil
}

// Pending is a call that was begun.
type Pending struct {
	peer     *Peer
	id       json.RawMessage
	answered <-chan *answer
}

// Await is the second half of [Peer.Call]. It is called once.
func (c *Pending) Await(ctx context.Context, result any) error {
	defer c.peer.calls.end(c.id)
	select {
	case a := <-c.answered:
		return a.read(result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read reads the result.
func (a *answer) read(result any) error {
	if a.err != nil || result == nil {
		return a.err
	}
	if err := json.Unmarshal(a.result, result); err != nil {
		return fmt.Errorf("jsonrpc: the result is not what was expected: %s", Explain(err, "params"))
	}
	return nil
}

func (c *calls) begin(id json.RawMessage) (<-chan *answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	answered := make(chan *answer, 1)
	c.open[string(id)] = answered
	return answered, nil
}

func (c *calls) end(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, string(id))
}

// settle tells whether somebody waited for this answer.
func (c *calls) settle(a *answer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	answered, ok := c.open[string(a.id)]
	if ok {
		delete(c.open, string(a.id))
		answered <- a
	}
	return ok
}

// fail ends all calls, and those to come. The first reason counts.
func (c *calls) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	for id, answered := range c.open {
		answered <- &answer{err: err}
		delete(c.open, id)
	}
}

// A loop is the reading of a peer while it handles something in order.
type loop struct {
	peer *Peer
	over atomic.Bool
}

type loopKey struct{}

// inOrder marks the context of a method that is handled in order, until over is called.
func inOrder(ctx context.Context, p *Peer) (marked context.Context, over func()) {
	l := &loop{peer: p}
	return context.WithValue(ctx, loopKey{}, l), func() { l.over.Store(true) }
}

// waitsForItself tells whether this is called where the answer would have to be read.
func waitsForItself(ctx context.Context, p *Peer) bool {
	l, ok := ctx.Value(loopKey{}).(*loop)
	return ok && l.peer == p && !l.over.Load()
}
