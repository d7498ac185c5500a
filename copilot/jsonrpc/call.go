package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
)

// calls holds the outgoing calls without an answer, by their ids as sent.
type calls struct {
	prefix string
	count  atomic.Uint64

	mu   sync.Mutex
	open map[string]*PendingCall
	err  error // why no more calls are possible
}

// Call sends a request to the peer and decodes the result into result, unless that is nil. It waits while too much is
// unsent, and then for the answer. Its errors are an [Error] if the peer refuses, [ErrGone] or [ErrClosed] if no answer
// is possible, and ctx.Err(). The peer does not learn of the latter, and a later answer is ignored.
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

// Begin is the first half of [Peer.Call]: when it returns, the request is in the queue, after everything sent before.
// The caller must await the answer. The owner is any value, for [Peer.Owner].
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
	if err := push(ctx, p.queue, p.options.Queue, raw); err != nil {
		p.calls.end(call.id)
		return nil, err
	}
	return call, nil
}

// Owner returns the owner of a call without an answer, for notifications that name the call by its id. It returns nil
// if there is no such call.
func (p *Peer) Owner(id json.RawMessage) any {
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	if call := p.calls.open[string(id)]; call != nil {
		return call.owner
	}
	return nil
}

// PendingCall is a call whose request is in the queue.
type PendingCall struct {
	peer     *Peer
	id       json.RawMessage
	owner    any
	answered chan *answer
}

// ID returns the id of the request, as sent.
func (c *PendingCall) ID() json.RawMessage { return c.id }

// Await is the second half of [Peer.Call]. Call it once.
func (c *PendingCall) Await(ctx context.Context, result any) error {
	defer c.peer.calls.end(c.id)
	select {
	case a := <-c.answered:
		return a.read(result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read decodes the result.
func (a *answer) read(result any) error {
	if a.err != nil || result == nil {
		return a.err
	}
	if err := json.Unmarshal(a.result, result); err != nil {
		return fmt.Errorf("jsonrpc: the result is not what was expected: %s", Explain(err, "params"))
	}
	return nil
}

// next returns an unused id.
func (c *calls) next() json.RawMessage {
	n := strconv.FormatUint(c.count.Add(1), 10)
	if c.prefix == "" {
		return json.RawMessage(n)
	}
	id, _ := Encode(c.prefix + n) // encoding a string never fails
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

// resolve passes an answer to its call and reports whether there is one.
func (c *calls) resolve(a *answer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	call, ok := c.open[string(a.id)]
	if ok {
		delete(c.open, string(a.id))
		call.answered <- a
	}
	return ok
}

// fail ends all calls, also future ones. Only the first error counts.
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

// readLoop marks the goroutine that reads for a peer, while it handles a method in order.
type readLoop struct {
	peer *Peer
	done atomic.Bool
}

type readLoopKey struct{}

// withReadLoop marks the context of a method that is handled in order, until done is called.
func withReadLoop(ctx context.Context, p *Peer) (marked context.Context, done func()) {
	l := &readLoop{peer: p}
	return context.WithValue(ctx, readLoopKey{}, l), func() { l.done.Store(true) }
}

// wouldDeadlock reports whether the caller occupies the goroutine that would read the answer.
func wouldDeadlock(ctx context.Context, p *Peer) bool {
	l, ok := ctx.Value(readLoopKey{}).(*readLoop)
	return ok && l.peer == p && !l.done.Load()
}
