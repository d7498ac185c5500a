package ndjson

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/process"
)

// maxWaiting is how many requests may wait while another is being written.
const maxWaiting = 100

// link is the connection to a program that runs.
type link struct {
	program *program
	peer    *jsonrpc.Peer
	log     *slog.Logger
	waiting chan *request // with room for all that may be unwritten
	behind  atomic.Int64  // requests that are not written, that which is being written included
	ends    sync.Once
	over    chan struct{} // closed when nothing will be answered any more
	done    chan struct{} // closed when the program and all that it started have ended
	work    sync.WaitGroup

	heard   atomic.Int64 // when the program said something last, in Unix nanoseconds
	writing atomic.Int64 // since when a request is being written, 0 if none is
	overdue atomic.Bool  // a request ran out of its time, and nothing was heard since it was written

	mu   sync.Mutex
	open map[string]*request // that were written and not answered, by their ids
	left map[string]*request // by tabs: those that nobody waits for any more
}

// connect takes up the connection to a program.
func connect(p *program, log *slog.Logger) *link {
	l := &link{
		program: p, log: log, waiting: make(chan *request, maxWaiting+1), over: make(chan struct{}), done: make(chan struct{}),
		open: map[string]*request{}, left: map[string]*request{},
	}
	methods := jsonrpc.Methods{"stream/chunk": {Handle: l.chunk, InOrder: true}}
	l.peer = jsonrpc.New(jsonrpc.NewLines(&ear{p.out, l}, p.in, jsonrpc.LineOptions{}), methods, jsonrpc.Options{Log: log, IgnoreGarbage: true})
	go l.supervise()
	return l
}

// ear notes signs of life, and the end.
type ear struct {
	io.ReadCloser

	link *link
}

// Read reads what the program says.
func (e *ear) Read(b []byte) (int, error) {
	n, err := e.ReadCloser.Read(b)
	if n > 0 {
		e.link.heard.Store(time.Now().UnixNano())
		e.link.overdue.Store(false)
	}
	return n, err
}

// exitGrace is how long a program may live that does not listen or talk any more.
const exitGrace = time.Second

// supervise waits for the end of the program, however it comes, and cleans up
// after it.
func (l *link) supervise() {
	defer close(l.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.work.Go(func() { l.send(ctx) })
	l.work.Go(func() {
		err := l.peer.Run(ctx)
		l.log.Debug("the connection to the agent's program has ended", "err", err)
		l.end()
	})
	l.await()
	l.program.clean()
	select { // what it said last may still be on its way
	case <-l.over:
	case <-time.After(process.PipeDelay):
	}
	l.end()
	cancel()
	_ = errors.Join(l.program.in.Close(), l.program.out.Close())
	l.work.Wait()
}

// await waits for the program to be gone.
func (l *link) await() {
	select {
	case <-l.program.gone:
		return
	case <-l.over:
	}
	select {
	case <-l.program.gone:
	case <-time.After(exitGrace):
		l.program.kill()
		<-l.program.gone
	}
}

func (l *link) end() { l.ends.Do(func() { close(l.over) }) }

func (l *link) isOver() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// request is one attempt.
type request struct {
	method  string
	params  any
	limit   time.Duration
	tab     string // of a chat; those of one tab follow one another
	attempt int
	chunk   func(Chunk)

	quit chan struct{} // closed when nobody waits for it any more
	done chan struct{} // closed when it was answered, or cannot be any more
	raw  json.RawMessage
	err  error

	written atomic.Bool

	mu    sync.Mutex // held during chunk, so that the end is a border
	muted bool
	next  int // the index of the next chunk
}

// ask makes a request and waits for its answer. Its error is not explained.
func (l *link) ask(ctx context.Context, r *request) (json.RawMessage, error) {
	r.quit, r.done = make(chan struct{}), make(chan struct{})
	defer r.mute()
	if err := l.inTurn(ctx, r.tab); err != nil {
		return nil, err
	}
	if l.isOver() {
		return nil, jsonrpc.ErrGone
	}
	if l.behind.Add(1) > maxWaiting+1 {
		l.behind.Add(-1)
		return nil, errFull
	}
	l.waiting <- r
	select {
	case <-r.done:
		return r.raw, r.err
	case <-l.over:
		if r.written.Load() { // it may have been answered at last, and is settled at once
			<-r.done
			return r.raw, r.err
		}
		return nil, jsonrpc.ErrGone
	case <-ctx.Done():
		l.leave(r)
		return nil, ctx.Err()
	}
}

// inTurn waits until the program is done with what was given up in a tab, or
// would be late with it.
func (l *link) inTurn(ctx context.Context, tab string) error {
	l.mu.Lock()
	prior := l.left[tab]
	l.mu.Unlock()
	if prior == nil {
		return ctx.Err()
	}
	select {
	case <-prior.done:
	case <-l.over:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// leave gives a request up.
func (l *link) leave(r *request) {
	close(r.quit)
	if r.tab == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-r.done:
	default:
		l.left[r.tab] = r
	}
}

// mute ends the chunks.
func (r *request) mute() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.muted = true
}

// send writes requests one after another: their ids grow, and their time begins
// when they are written.
func (l *link) send(ctx context.Context) {
	for {
		select {
		case <-l.over:
			return
		case r := <-l.waiting:
			select {
			case <-r.quit:
				l.settle("", r, nil, context.Canceled)
			default:
				l.write(ctx, r)
			}
			l.behind.Add(-1)
		}
	}
}

func (l *link) write(ctx context.Context, r *request) {
	id := l.peer.NextID()
	l.mu.Lock()
	l.open[string(id)] = r
	l.mu.Unlock()
	l.writing.Store(time.Now().UnixNano())
	pending, err := l.peer.BeginAs(ctx, id, r.method, r.params)
	if err == nil {
		err = l.peer.Flush(ctx)
	}
	l.writing.Store(0)
	if err != nil {
		l.settle(string(id), r, nil, l.reason(err))
		return
	}
	r.written.Store(true)
	l.work.Go(func() { l.follow(ctx, string(id), r, pending) })
}

// reason tells errors of the connection, which is over then, from those of what
// is asked for.
func (l *link) reason(err error) error {
	if errors.Is(err, jsonrpc.ErrGone) || errors.Is(err, jsonrpc.ErrClosed) || errors.Is(err, context.Canceled) {
		l.end()
		return jsonrpc.ErrGone
	}
	return err
}

// follow waits for the answer to a request that was written just now.
func (l *link) follow(ctx context.Context, id string, r *request, pending *jsonrpc.Pending) {
	written := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	var raw json.RawMessage
	err := pending.Await(ctx, &raw)
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		l.overdue.Store(l.heard.Load() <= written.UnixNano())
		err = errLate
	default:
		err = l.reason(err)
	}
	l.settle(id, r, raw, err)
}

// settle ends a request.
func (l *link) settle(id string, r *request, raw json.RawMessage, err error) {
	r.mute()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
	if l.left[r.tab] == r {
		delete(l.left, r.tab)
	}
	r.raw, r.err = raw, err
	close(r.done)
}

// chunk takes a piece of an answer. One that is there already is not told again.
func (l *link) chunk(_ context.Context, n *jsonrpc.Request) (any, error) {
	var c struct {
		RequestID json.RawMessage `json:"requestId"`
		Chunk     string          `json:"chunk"`
		Done      bool            `json:"done"`
		Index     *int            `json:"index"`
	}
	if err := n.Decode(&c); err != nil {
		l.log.Warn("the agent's program sent a chunk that is none", "err", err)
		return nil, err
	}
	l.mu.Lock()
	r := l.open[string(c.RequestID)]
	l.mu.Unlock()
	if r == nil {
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
	index := *c.Index
	r.next = index + 1
	r.chunk(Chunk{Attempt: r.attempt, Index: index, Text: c.Chunk, Done: c.Done})
	return nil, nil //nolint:nilnil // as above
}
