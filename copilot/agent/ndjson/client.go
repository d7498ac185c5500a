package ndjson

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Client sends requests to a program. It starts the program with the first request, and again after the program has
// died. A death fails the open requests; their policy may retry them. Its methods may be called concurrently. The
// caller must close it.
//
// Errors are of type [fault.Error]. They wrap a jsonrpc.Error if the program refused, or, with the code -32004, if 100
// requests wait to be written.
type Client struct {
	start    func() (*stdio.Program, error)
	log      *slog.Logger
	starting chan struct{} // held during a start
	dead     chan struct{} // closed by Close

	mu               sync.Mutex
	link             *link
	closed           bool
	restartPrevented bool              // the program is not restarted
	greeting         *InitializeParams // answered greeting, which a restarted program gets, too
	greeted          *link             // the link that answered it
	deaths           int               // consecutive, without an answer in between
	stderr           string            // of the last program that died
}

// NewClient returns a client of a program, which it does not start yet.
func NewClient(o Options) *Client {
	o = o.withDefaults()
	return newClient(func() (*stdio.Program, error) { return o.command().Start(&process.Set{}) }, o.Log)
}

func newClient(start func() (*stdio.Program, error), log *slog.Logger) *Client {
	return &Client{start: start, log: log, starting: make(chan struct{}, 1), dead: make(chan struct{})}
}

// Initialize greets the program. It is optional.
func (c *Client) Initialize(ctx context.Context, p InitializeParams) (r InitializeResult, err error) {
	err = c.call(ctx, call{method: initialize, params: p}, &r)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.greeting, c.greeted = &p, c.link
	}
	return r, err
}

// Generate generates an interface. OnChunk, if not nil, gets pieces of its code as they arrive, one call at a time and
// none after Generate has returned. It must not block.
func (c *Client) Generate(ctx context.Context, p GenerateParams, onChunk func(Chunk)) (r GenerateResult, err error) {
	err = c.call(ctx, call{method: generate, params: p, chunk: onChunk}, &r)
	return r, err
}

// Customize changes an interface. OnChunk is as in Generate.
func (c *Client) Customize(ctx context.Context, p CustomizeParams, onChunk func(Chunk)) (r CustomizeResult, err error) {
	err = c.call(ctx, call{method: customize, params: p, chunk: onChunk}, &r)
	return r, err
}

// Chat sends a message. OnChunk is as in Generate. After a cancelled message, the next one of the same tab waits until
// that message is answered or timed out, because the protocol has no method to cancel.
func (c *Client) Chat(ctx context.Context, p ChatParams, onChunk func(Chunk)) (r ChatResult, err error) {
	err = c.call(ctx, call{method: chat, params: p, tab: p.Context.TabID, chunk: onChunk}, &r)
	return r, err
}

// Close stops the program, gracefully until ctx is done. Open requests fail.
func (c *Client) Close(ctx context.Context) {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.dead)
	}
	l := c.link
	c.mu.Unlock()
	if l != nil {
		l.stop(ctx)
	}
}

// call is a request with all its attempts.
type call struct {
	method string
	params any
	tab    string
	chunk  func(Chunk)
	failed func(attempt int, err error, again bool, wait time.Duration) // called after each failed attempt unless nil
}

func (c *Client) call(ctx context.Context, call call, result any) error {
	p := policyOf(call.method)
	for n := 1; ; n++ {
		l, err := c.attempt(ctx, call, n, p.limit, result)
		if err == nil {
			return nil
		}
		again := n <= len(p.backoff) && isTransient(err) && ctx.Err() == nil && !agent.IsClosed(c.lost(l))
		wait := time.Duration(0)
		if again {
			wait = p.backoff[n-1]
			c.log.Warn("retrying the request to the agent's program", "method", call.method, "attempt", n+1, "in", wait, "err", err)
		}
		if call.failed != nil {
			call.failed(n, err, again, wait)
		}
		if !again {
			return err
		}
		if err := sleep(ctx, wait, c.lost(l)); err != nil {
			return err
		}
	}
}

// attempt sends a request once.
func (c *Client) attempt(ctx context.Context, call call, n int, limit time.Duration, result any) (*link, error) {
	l, err := c.connect(ctx, call.method)
	if err != nil {
		return l, err
	}
	raw, err := l.request(ctx, &request{method: call.method, params: call.params, limit: limit, tab: call.tab, attempt: n, chunk: call.chunk})
	if err == nil {
		c.mu.Lock()
		c.deaths = 0
		c.mu.Unlock()
		if err = errNoResult; string(raw) != "null" {
			err = json.Unmarshal(raw, result)
		}
	}
	switch {
	case err == nil:
		return l, nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()), errors.Is(err, errFull):
		return l, err
	}
	return l, explain(call.method, limit, err)
}

// preventRestart makes the current program the last one.
func (c *Client) preventRestart() *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restartPrevented = true
	return c.link
}

// lost returns a channel that is closed when a retry is useless.
func (c *Client) lost(l *link) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.restartPrevented && l != nil {
		return l.Over()
	}
	return c.dead
}

// connect returns the link to a running program.
func (c *Client) connect(ctx context.Context, method string) (*link, error) {
	select {
	case c.starting <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.starting }()
	l, wait, err := c.current(method)
	if err != nil {
		return l, err
	}
	if l == nil || l.IsOver() {
		if err := c.awaitExit(ctx, l); err != nil {
			return nil, err
		}
		if err := sleep(ctx, wait, c.dead); err != nil {
			return nil, err
		}
		if l, err = c.restart(); err != nil {
			return nil, err
		}
	}
	if method != initialize {
		return l, c.greet(ctx, l)
	}
	return l, nil
}

// current returns the current link and how long to wait before a restart, which grows with each consecutive death.
// Attempts to initialize wait by their own policy.
func (c *Client) current(method string) (*link, time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return c.link, 0, errClosed
	case c.link == nil || !c.link.IsOver():
		return c.link, 0, nil
	case c.restartPrevented:
		return c.link, 0, stdio.ErrGone
	}
	c.deaths++
	waits := append([]time.Duration{0}, policyOf(initialize).backoff...)
	if method == initialize {
		waits = []time.Duration{0}
	}
	return c.link, waits[min(c.deaths, len(waits))-1], nil
}

// awaitExit waits until a dead program and its children are gone, and keeps the end of its output.
func (c *Client) awaitExit(ctx context.Context, l *link) error {
	if l == nil {
		return nil
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stderr = l.Program.How()
	return nil
}

// stderrTail returns the end of the output of the last dead program, or otherwise of the current one.
func (c *Client) stderrTail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stderr != "" || c.link == nil {
		return c.stderr
	}
	return c.link.Program.How()
}

func (c *Client) restart() (*link, error) {
	p, err := c.start()
	if err != nil {
		return nil, fault.Errorf(fault.Unavailable, "the agent's program did not start: %w", err)
	}
	l := connect(p, c.log)
	c.mu.Lock()
	c.link = l
	closed := c.closed
	c.mu.Unlock()
	if closed {
		l.stop(stdio.AtOnce())
		return l, errClosed
	}
	return l, nil
}

// greet initializes a restarted program like the first one.
func (c *Client) greet(ctx context.Context, l *link) error {
	c.mu.Lock()
	p, known := c.greeting, c.greeted == l
	c.mu.Unlock()
	if p == nil || known {
		return nil
	}
	limit := policyOf(initialize).limit
	if _, err := l.request(ctx, &request{method: initialize, params: p, limit: limit}); err != nil {
		return explain(initialize, limit, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.greeted = l
	return nil
}
