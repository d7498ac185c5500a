package ndjson

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// maxWaiting is the maximum number of requests that wait while another is written.
const maxWaiting = 100

// link is the connection to a running program.
type link struct {
	*stdio.Link

	log       *slog.Logger
	turn      chan struct{} // full while a request is written
	unwritten atomic.Int64  // unwritten requests, including the one being written
	done      chan struct{} // closed when the program, its children and all requests have ended
	work      sync.WaitGroup

	writing atomic.Int64 // start of the current write, 0 if there is none
	late    atomic.Int64 // when the last request that timed out was written, 0 if there is none; in Unix nanoseconds

	mu        sync.Mutex
	ended     bool                // no request can begin
	abandoned map[string]*request // by tab: requests without a waiting caller
}

// connect connects to a program.
func connect(p *stdio.Program, log *slog.Logger) *link {
	l := &link{log: log, turn: make(chan struct{}, 1), done: make(chan struct{}), abandoned: map[string]*request{}}
	methods := jsonrpc.Methods{"stream/chunk": {Handle: l.chunk, InOrder: true}}
	l.Link = stdio.Connect(p, methods, jsonrpc.Options{Log: log, IgnoreGarbage: true})
	go l.awaitEnd()
	return l
}

// awaitEnd waits for the end of the program and of all requests.
func (l *link) awaitEnd() {
	<-l.Done()
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.work.Wait()
	close(l.done)
}

// request is one attempt of a call.
type request struct {
	method string
	params any
	tab    string            // of a chat; requests of one tab run one after another
	chunk  func(text string) // gets the pieces of the answer, one call at a time and none after the end; must not block; nil: they are ignored

	quit chan struct{} // closed when no caller waits for the response
	done chan struct{} // closed when it is answered or can no longer be
	raw  json.RawMessage
	err  error

	mu    sync.Mutex // held during chunk, so that no chunk follows the end
	muted bool
	next  int // index of the next chunk
}

// call sends a request once and decodes its result.
func (l *link) call(ctx context.Context, r *request, result any) error {
	raw, err := l.request(ctx, r)
	if err == nil {
		if err = errNoResult; string(raw) != "null" {
			err = json.Unmarshal(raw, result)
		}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()), errors.Is(err, errFull):
		return err
	}
	return explain(r.method, err)
}

// request sends a request and waits for its answer. The error needs [explain].
func (l *link) request(ctx context.Context, r *request) (json.RawMessage, error) {
	r.quit, r.done = make(chan struct{}), make(chan struct{})
	defer r.mute()
	if err := l.waitForTab(ctx, r.tab); err != nil {
		return nil, err
	}
	if err := l.begin(r); err != nil {
		return nil, err
	}
	select {
	case <-r.done:
		return r.raw, r.err
	case <-ctx.Done():
		l.abandon(r)
		return nil, ctx.Err()
	}
}

// begin starts a request, unless the link is over or too many wait.
func (l *link) begin(r *request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended || l.IsOver():
		return jsonrpc.ErrGone
	case l.unwritten.Load() > maxWaiting:
		return errFull
	}
	l.unwritten.Add(1)
	l.work.Go(func() {
		raw, err := l.exchange(r)
		l.complete(r, raw, err)
	})
	return nil
}

// waitForTab waits until the abandoned request of a tab is answered or timed out.
func (l *link) waitForTab(ctx context.Context, tab string) error {
	l.mu.Lock()
	prior := l.abandoned[tab]
	l.mu.Unlock()
	if prior == nil {
		return ctx.Err()
	}
	select {
	case <-prior.done:
	case <-l.Over():
	case <-ctx.Done():
	}
	return ctx.Err()
}

// abandon marks a request as abandoned.
func (l *link) abandon(r *request) {
	close(r.quit)
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.tab != "" && !agent.IsClosed(r.done) {
		l.abandoned[r.tab] = r
	}
}

// mute stops the chunks.
func (r *request) mute() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.muted = true
}

// exchange writes a request and waits for its answer. The time limit starts when the request is written.
func (l *link) exchange(r *request) (raw json.RawMessage, err error) {
	pending, err := l.write(r)
	if err != nil {
		return nil, err
	}
	written := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), policyOf(r.method).limit)
	defer cancel()
	err = pending.Await(ctx, &raw)
	if errors.Is(err, context.DeadlineExceeded) {
		l.late.Store(written.UnixNano())
		return nil, errLate
	}
	return raw, l.reason(err)
}

// write writes a request when it is its turn, unless it was abandoned before. Requests are written one after another,
// so that their ids grow. Writing ends at the latest with the link.
func (l *link) write(r *request) (*jsonrpc.PendingCall, error) {
	defer l.unwritten.Add(-1)
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-r.quit:
	case <-l.Over():
		return nil, jsonrpc.ErrGone
	}
	if agent.IsClosed(r.quit) {
		return nil, context.Canceled
	}
	l.writing.Store(time.Now().UnixNano())
	defer l.writing.Store(0)
	ctx := context.Background()
	pending, err := l.Peer.Begin(ctx, r, r.method, r.params)
	if err == nil {
		err = l.Peer.Flush(ctx)
	}
	return pending, l.reason(err)
}

// reason maps errors of the connection, which end the link.
func (l *link) reason(err error) error {
	if errors.Is(err, jsonrpc.ErrGone) || errors.Is(err, jsonrpc.ErrClosed) {
		l.End()
		return jsonrpc.ErrGone
	}
	return err
}

// complete completes a request.
func (l *link) complete(r *request, raw json.RawMessage, err error) {
	r.mute()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.abandoned[r.tab] == r {
		delete(l.abandoned, r.tab)
	}
	r.raw, r.err = raw, err
	close(r.done)
}

// chunk forwards a piece of an answer, unless it is a repetition.
func (l *link) chunk(_ context.Context, n *jsonrpc.Request) (any, error) {
	var c struct {
		RequestID json.RawMessage `json:"requestId"`
		Chunk     string          `json:"chunk"`
		Index     *int            `json:"index"`
	}
	if err := n.Decode(&c); err != nil {
		l.log.Warn("the agent's program sent an invalid chunk", "err", err)
		return nil, err
	}
	r, open := n.Peer.Owner(c.RequestID).(*request)
	if !open {
		return nil, nil //nolint:nilnil // a notification has no result
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Index == nil {
		c.Index = &r.next
	}
	if r.muted || r.chunk == nil || *c.Index < r.next {
		return nil, nil //nolint:nilnil // as above
	}
	r.next = *c.Index + 1
	r.chunk(c.Chunk)
	return nil, nil //nolint:nilnil // as above
}

// stop stops the program: an exit notification, the end of its input, SIGTERM, and SIGKILL when ctx is done or it takes
// too long.
func (l *link) stop(ctx context.Context) {
	l.Stop(ctx, func(ctx context.Context) {
		if l.Peer.Notify(ctx, "exit", nil) == nil {
			_ = l.Peer.Flush(ctx) // the input is closed in any case
		}
	})
	<-l.done
}

const (
	writeLimit   = 10 * time.Second      // for writing a request
	pingInterval = 50 * time.Millisecond // interval of checks in ping
)

// ping waits for a sign of life if one is overdue. The protocol has no method to request one.
func (l *link) ping(ctx context.Context) error {
	before, output := l.Program.Activity(), l.LastOutput()
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for l.isOverdue() {
		select {
		case <-ticker.C:
		case <-l.Over():
		case <-ctx.Done():
			return l.Silent(ctx, before, output)
		}
	}
	if l.IsOver() {
		return stdio.ErrGone
	}
	return nil
}

// isOverdue reports whether the program should have answered, or read.
func (l *link) isOverdue() bool {
	since, late := l.writing.Load(), l.late.Load()
	stuck := since != 0 && time.Since(time.Unix(0, since)) > writeLimit
	return !l.IsOver() && (stuck || late != 0 && l.LastOutput().UnixNano() <= late)
}
