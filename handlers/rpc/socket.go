package rpc

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/socket"
)

// methodEvent is the notification that carries an event of a session.
const methodEvent = "session.event"

// connection is a WebSocket on which the methods are called. The events of the
// sessions that it has to do with come on it as well, each session read by one
// goroutine.
type connection struct {
	api *API

	mu      sync.Mutex
	streams map[string]context.CancelFunc // by session
}

// connect is GET /rpc.
func (a *API) connect(c *gin.Context) {
	a.options.Sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
		ctx, cancel := a.during(ctx, lastWords)
		defer cancel()
		n := &connection{api: a, streams: map[string]context.CancelFunc{}}
		err := jsonrpc.New(conn.Frames(ctx), n.methods(), jsonrpc.Options{Fault: fault, Log: a.options.Log}).Run(ctx)
		if err != nil && ctx.Err() == nil {
			a.options.Log.Debug("a WebSocket has ended", "path", c.Request.URL.Path, "err", err)
		}
	})
}

// methods are those of HTTP, and what tells which events are wanted. Who creates a
// session or sends it something wants them.
func (n *connection) methods() jsonrpc.Methods {
	m := n.api.Methods()
	m["session.create"] = jsonrpc.Method{Handle: n.watching(n.api.create)}
	m["session.send"] = jsonrpc.Method{Handle: n.watching(n.api.send)}
	m["session.subscribe"] = jsonrpc.Method{Handle: n.subscribe}
	m["session.unsubscribe"] = jsonrpc.Method{Handle: n.unsubscribe}
	return m
}

// watching is a method after which the events of its session come.
func (n *connection) watching(handle func(context.Context, *jsonrpc.Request) (any, error)) func(context.Context, *jsonrpc.Request) (any, error) {
	return func(ctx context.Context, r *jsonrpc.Request) (any, error) {
		result, err := handle(ctx, r)
		if err != nil {
			return nil, err
		}
		id := ""
		switch b := result.(type) {
		case created:
			id = b.SessionID
		case sent:
			var p sessionParams
			_ = json.Unmarshal(r.Params, &p) // the method has read it
			id = p.SessionID
		}
		s, err := n.api.options.Host.Session(ctx, id)
		if err != nil {
			return nil, err
		}
		return result, n.watch(ctx, r, s, "")
	}
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
	cancel, known := n.streams[id]
	if known {
		cancel()
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
	out := &notifier{session: s.ID(), send: func(e event) error { return r.Peer.Notify(ctx, methodEvent, e) }}
	reader := &reader{api: n.api, session: s, use: n.api.use(s), out: out, teller: newTeller()}
	gap, err := reader.begin(ctx, lastID)
	if err != nil {
		cancel()
		return err
	}
	n.streams[s.ID()] = cancel
	reader.use.join(reader)                                     // from here on it will tell what happens
	context.AfterFunc(ctx, func() { reader.use.leave(reader) }) // also if the connection ends before that begins
	r.After(func() {
		defer cancel()
		n.api.follow(s, "")
		if reader.gap(gap) == nil {
			reader.run(ctx)
		}
		n.ended(ctx, s.ID())
	})
	return nil
}

// ended forgets a stream that has come to its end by itself.
func (n *connection) ended(ctx context.Context, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() == nil { // else another may have its place
		delete(n.streams, id)
	}
}

// event is an event of a session as a notification.
type event struct {
	SessionID string `json:"sessionId"`
	ID        string `json:"id,omitempty"` // to go on behind it; the last event of several at one place has it
	Event     string `json:"event"`
	Data      any    `json:"data"`
}

// notifier sends events as notifications. Used by one goroutine.
type notifier struct {
	session string
	send    func(event) error
	pending []event
}

// comment has nothing to do: the carrier keeps itself alive.
func (n *notifier) comment() error { return nil }

func (n *notifier) add(id string, messages []message) error {
	for i, m := range messages {
		e := event{SessionID: n.session, Event: m.event, Data: m.data}
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
