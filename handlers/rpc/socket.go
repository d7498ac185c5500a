package rpc

import (
	"context"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/socket"
)

// methodEvent is the notification that carries an event of a session.
const methodEvent = "session.event"

// maxRequests are at work at a time on a connection. Some wait for a turn elsewhere, and must not keep others from being answered.
const maxRequests = 200

// connection is a WebSocket on which the methods are called. The events of the
// sessions that it has to do with come on it as well, each session read by one
// goroutine.
type connection struct {
	api  *API
	work sync.WaitGroup // the streams

	mu      sync.Mutex
	streams map[string]*subscription // by session
}

// subscription is the stream of a session on a connection.
type subscription struct {
	cancel context.CancelFunc

	mu   sync.Mutex
	over bool // nothing is sent any more, whatever is on its way
}

// stop ends the stream: nothing of it is sent behind what follows.
func (s *subscription) stop() {
	s.cancel() // which frees who waits in send
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

func (s *subscription) send(ctx context.Context, to *jsonrpc.Peer, e streamEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return context.Canceled
	}
	return to.Notify(ctx, methodEvent, e)
}

// connect is GET /rpc.
func (a *API) connect(c *gin.Context) {
	a.options.Sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
		ctx, cancel := a.withShutdown(ctx, lastWords)
		defer cancel()
		n := &connection{api: a, streams: map[string]*subscription{}}
		err := jsonrpc.New(conn.Frames(ctx), n.methods(), jsonrpc.Options{Concurrent: maxRequests, Fault: rpcError, Log: a.options.Log}).Run(ctx)
		n.end()
		if err != nil && ctx.Err() == nil {
			a.options.Log.Debug("a WebSocket has ended", "path", c.Request.URL.Path, "err", err)
		}
	})
}

// methods are those of HTTP, and what tells which events are wanted. Who creates a
// session or sends it something wants them.
func (n *connection) methods() jsonrpc.Methods {
	m := n.api.Methods()
	m["session.create"] = jsonrpc.Method{Handle: n.create}
	m["session.send"] = jsonrpc.Method{Handle: n.send}
	m["session.subscribe"] = jsonrpc.Method{Handle: n.subscribe}
	m["session.unsubscribe"] = jsonrpc.Method{Handle: n.unsubscribe}
	return m
}

// create is session.create, after which the events of the session come.
func (n *connection) create(ctx context.Context, r *jsonrpc.Request) (any, error) {
	result, err := n.api.create(ctx, r)
	if err != nil {
		return nil, err
	}
	id := ""
	if c, ok := result.(created); ok {
		id = c.SessionID
	}
	s, err := n.api.options.Host.Session(ctx, id)
	if err == nil {
		err = n.watch(ctx, r, s, "")
	}
	if err != nil { // the session is there all the same
		n.api.options.Log.Warn("the events of a new session cannot be told", "session", id, "err", err)
	}
	return result, nil
}

// send is session.send. Where the events begin is found out before, or a run that
// is over at once could have been told to others by then.
func (n *connection) send(ctx context.Context, r *jsonrpc.Request) (any, error) {
	s, err := n.api.sessionOf(ctx, r)
	if err != nil {
		return nil, err
	}
	known := n.isWatched(s.ID())
	if err := n.watch(ctx, r, s, ""); err != nil {
		return nil, err
	}
	result, err := n.api.send(ctx, r)
	if err != nil && !known {
		n.stop(s.ID())
	}
	return result, err
}

func (n *connection) isWatched(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.streams[id] != nil
}

type subscribeParams struct {
	SessionID   string `json:"sessionId"`
	LastEventID string `json:"lastEventId"`
}

// subscribe lets the events of a session come, after those that the client has.
func (n *connection) subscribe(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p subscribeParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.SessionID == "" {
		return nil, jsonrpc.InvalidParams(`"sessionId" is missing`)
	}
	s, err := n.api.options.Host.Session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	n.stop(s.ID()) // it may want others than come now
	return struct{}{}, n.watch(ctx, r, s, p.LastEventID)
}

func (n *connection) unsubscribe(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p sessionParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	return map[string]bool{"unsubscribed": n.stop(p.SessionID)}, nil
}

// stop ends the events of a session; false if none came.
func (n *connection) stop(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	stream, known := n.streams[id]
	if known {
		stream.stop()
		delete(n.streams, id)
	}
	return known
}

// watch lets the events of a session come behind the response, unless they do.
func (n *connection) watch(ctx context.Context, r *jsonrpc.Request, s *copilot.Session, lastID string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.streams[s.ID()] != nil || r.Peer == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	stream := &subscription{cancel: cancel}
	out := &notifier{session: s.ID(), send: func(e streamEvent) error { return stream.send(ctx, r.Peer, e) }}
	reader := &streamReader{api: n.api, session: s, use: n.api.use(s), writer: out, encoder: newEncoder()}
	gap, err := reader.begin(ctx, lastID)
	if err != nil {
		cancel()
		return err
	}
	n.streams[s.ID()] = stream
	reader.use.join(reader)                                     // from here on it will tell what happens
	context.AfterFunc(ctx, func() { reader.use.leave(reader) }) // also if the connection ends before that begins
	r.After(func() {                                            // not there: what else is to be done after a batch must not wait
		n.work.Go(func() {
			defer n.ended(s.ID(), stream)
			n.api.follow(s, "")
			if reader.gap(gap) == nil {
				reader.run(ctx)
			}
			if ctx.Err() == nil { // by itself: the client must not wait for more
				_ = out.add("", singleEvent("end", struct{}{}))
				_ = out.flush()
			}
		})
	})
	return nil
}

// end ends all streams and returns when they have ended.
func (n *connection) end() {
	n.mu.Lock()
	for _, stream := range n.streams {
		stream.cancel()
	}
	n.mu.Unlock()
	n.work.Wait()
}

// ended forgets a stream, unless another has its place.
func (n *connection) ended(id string, stream *subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	stream.cancel()
	if n.streams[id] == stream {
		delete(n.streams, id)
	}
}

// event is an event of a session as a notification.
type streamEvent struct {
	SessionID string `json:"sessionId"`
	ID        string `json:"id,omitempty"` // to go on behind it; the last event of several at one place has it
	Event     string `json:"event"`
	Data      any    `json:"data"`
}

// notifier sends events as notifications. Used by one goroutine.
type notifier struct {
	session string
	send    func(streamEvent) error
	pending []streamEvent
}

// comment has nothing to do: the carrier keeps itself alive.
func (n *notifier) comment() error { return nil }

func (n *notifier) add(id string, messages []message) error {
	for i, m := range messages {
		e := streamEvent{SessionID: n.session, Event: m.event, Data: m.data}
		if i == len(messages)-1 {
			e.ID = id
		}
		n.pending = append(n.pending, e)
	}
	return nil
}

func (n *notifier) isFull() bool { return len(n.pending) >= batchEvents }

func (n *notifier) flush() error {
	for _, e := range n.pending {
		if err := n.send(e); err != nil {
			return err
		}
	}
	clear(n.pending)
	n.pending = n.pending[:0]
	return nil
}
