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
	open map[string]*PendingCall
	err  error // why there can be no more
}

// Call asks the peer for something and reads the result into a pointer, unless that is nil. It waits while too much is
// unsent, and then for the answer. Its errors are an [Error] if the peer refuses, [ErrGone] or [ErrClosed] if there can be no
// answer, and ctx.Err(); the peer is not told of that, and an answer that comes later is ignored.
func (p *Peer) Call(ctx context.Context, method string, params, result any) error {
	if wouldDeadlock(ctx, p) {
		return ErrInOrder
	}
	pending, err := p.Begin(ctx, nil, method, params)
	if err != nil {
		return err
	}
	return pending.Await(ctx, result)
}

// Begin is the first half of [Peer.Call]: when it returns, the request is in the queue, behind what was sent before. Who
// begins a call has to await its answer. The owner is anything, for [Peer.Owner].
func (p *Peer) Begin(ctx context.Context, owner any, method string, params any) (*PendingCall, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	call := &PendingCall{peer: p, id: p.calls.next(), owner: owner, answered: make(chan *answer, 1)}
	raw, err := encodeCall(call.id, method, params)
	if err != nil {
		return nil, err
	}
	if err := p.calls.begin(call); err != nil {
		return nil, err
	}
	if err := p.queue.push(ctx, raw, p.options.Queue); err != nil {
		p.calls.end(call.id)
		return nil, err
	}
	return call, nil
}

// Owner returns the owner of a call that has no answer yet, for notifications that name it by its id; nil if there is no
// such call.
func (p *Peer) Owner(id json.RawMessage) any {
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	if call := p.calls.open[string(id)]; call != nil {
		return call.owner
	}
	return nil
}

// PendingCall is a call that was begun.
type PendingCall struct {
	peer     *Peer
	id       json.RawMessage
	owner    any
	answered chan *answer
}

// Await is the second half of [Peer.Call]. It is called once.
func (c *PendingCall) Await(ctx context.Context, result any) error {
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

// next makes an id that no other call has.
func (c *calls) next() json.RawMessage {
	n := strconv.FormatUint(c.count.Add(1), 10)
	if c.prefix == "" {
		return json.RawMessage(n)
	}
	id, _ := encode(c.prefix + n) // a string always can be
	return id
}

func (c *calls) begin(call *PendingCall) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.open[string(call.id)] = call
	}
	return c.err
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
	call, ok := c.open[string(a.id)]
	if ok {
		delete(c.open, string(a.id))
		call.answered <- a
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
	for _, call := range c.open {
		call.answered <- &answer{err: err}
	}
	clear(c.open)
}

// A loop is the reading of a peer while it handles something in order.
type readLoop struct {
	peer *Peer
	over atomic.Bool
}

type readLoopKey struct{}

// withReadLoop marks the context of a method that is handled in order, until over is called.
func withReadLoop(ctx context.Context, p *Peer) (marked context.Context, over func()) {
	l := &readLoop{peer: p}
	return context.WithValue(ctx, readLoopKey{}, l), func() { l.over.Store(true) }
}

// wouldDeadlock tells whether this is called where the answer would have to be read.
func wouldDeadlock(ctx context.Context, p *Peer) bool {
	l, ok := ctx.Value(readLoopKey{}).(*readLoop)
	return ok && l.peer == p && !l.over.Load()
}
