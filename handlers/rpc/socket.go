package rpc

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/handlers/wire"
)

// methodEvent is the notification that carries an event of a session.
const methodEvent = "session.event"

// maxRequests limits the concurrent requests of a connection. Some wait for a run; they must not block others.
const maxRequests = 200

// maxUnsent is how many bytes may wait for a slow client; events behind them stay in the record.
const maxUnsent = 64 << 10

// connection is a WebSocket with the methods. It also carries the events of the sessions it uses,
// each read by one goroutine.
type connection struct {
	api  *API
	work sync.WaitGroup // the streams

	mu      sync.Mutex
	streams map[string]*subscription // by session
}

// subscription is the stream of a session on a connection.
type subscription struct {
	cancel   context.CancelFunc
	start    func() // starts it; only the first call counts
	requests int    // that rely on it: all but those that failed; the connection's lock guards it

	mu   sync.Mutex
	over bool // nothing more is sent, even if it is on its way
}

// join makes a request rely on the stream, which starts after the first response that is no error.
func (s *subscription) join(r *jsonrpc.Request) {
	s.requests++
	r.After(s.start)
}

// stop ends the stream: nothing of it follows what is sent next.
func (s *subscription) stop() {
	s.cancel() // which ends a waiting send
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

func (s *subscription) send(ctx context.Context, to *jsonrpc.Peer, list []jsonrpc.Notification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return context.Canceled
	}
	return to.Send(ctx, list...)
}

// connect is GET /rpc.
func (a *API) connect(c *gin.Context) {
	path := strings.Clone(c.Request.URL.Path)
	a.options.Sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
		ctx, cancel := a.withShutdown(ctx, shutdownGrace)
		defer cancel()
		n := &connection{api: a, streams: map[string]*subscription{}}
		err := jsonrpc.New(conn.Frames(ctx), n.methods(), jsonrpc.Options{
			Concurrent: maxRequests, Queue: maxUnsent, Admit: a.options.Admit, Fault: rpcError, Log: a.options.Log,
		}).Run(ctx)
		n.end()
		if err != nil && ctx.Err() == nil {
			a.options.Log.Debug("WebSocket ended", "path", path, "err", err)
		}
	})
}

// methods are those that differ from HTTP, because they select events, and those of HTTP. A client that creates or uses a session gets
// its events.
func (n *connection) methods() jsonrpc.Finder {
	return jsonrpc.Chain{n.api.socketMethods.Of(n), n.api.methods}
}

func socketMethods() jsonrpc.Table[*connection] {
	return jsonrpc.Table[*connection]{
		"session.create":      {Handle: (*connection).create},
		"session.send":        {Handle: (*connection).send},
		"session.subscribe":   {Handle: (*connection).subscribe},
		"session.unsubscribe": {Handle: (*connection).unsubscribe},
	}
}

// SocketMethods returns the names of the methods that WebSockets have, which include those of HTTP. Tests need them.
func (a *API) SocketMethods() []string {
	return slices.Compact(slices.Sorted(slices.Values((&connection{api: a}).methods().Names())))
}

// create is session.create. The events of the session follow.
func (n *connection) create(ctx context.Context, r *jsonrpc.Request) (any, error) {
	s, err := n.api.start(ctx, r)
	if err != nil {
		return nil, err
	}
	if _, err := n.watch(ctx, r, s); err != nil { // the session exists all the same
		n.api.options.Log.Warn("cannot send the events of a new session", "session", s.ID(), "err", err)
	}
	return describeCreated(s), nil
}

// send is session.send. It determines where the events start before it sends the prompt: the end
// of a short run might be delivered to other clients in between.
func (n *connection) send(ctx context.Context, r *jsonrpc.Request) (any, error) {
	s, err := n.api.sessionOf(ctx, r)
	if err != nil {
		return nil, err
	}
	stream, err := n.watch(ctx, r, s)
	if err != nil {
		return nil, err
	}
	result, err := n.api.send(ctx, r)
	if err != nil {
		n.leave(s.ID(), stream)
	}
	return result, err
}

type subscribeParams struct {
	SessionID   string      `json:"sessionId"`
	LastEventID string      `json:"lastEventId"`
	Interval    json.Number `json:"interval"` // least time between events, in milliseconds
}

// subscribe starts the events of a session, after those that the client has. They replace those that it gets now, unless the request is
// invalid.
func (n *connection) subscribe(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p subscribeParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if err := checkID(p.SessionID); err != nil {
		return nil, err
	}
	s, err := n.api.options.Host.Session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	from, err := parseStart(p.LastEventID, p.Interval.String())
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop(s.ID()) // first, because where the others start depends on what these have delivered
	_, err = n.open(ctx, r, s, from)
	return struct{}{}, err
}

func (n *connection) unsubscribe(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p sessionParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return map[string]bool{"unsubscribed": n.stop(p.SessionID)}, nil
}

// stop ends the events of a session; false if there were none. The caller holds the lock.
func (n *connection) stop(id string) bool {
	stream, known := n.streams[id]
	if known {
		stream.stop()
		delete(n.streams, id)
	}
	return known
}

// leave ends the events of a session if only a request relied on them that has failed.
func (n *connection) leave(id string, stream *subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if stream.requests--; stream.requests == 0 && n.streams[id] == stream {
		n.stop(id)
	}
}

// watch starts the events of a session after the response, unless they have started.
func (n *connection) watch(ctx context.Context, r *jsonrpc.Request, s *copilot.Session) (*subscription, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if stream := n.streams[s.ID()]; stream != nil {
		stream.join(r)
		return stream, nil
	}
	return n.open(ctx, r, s, streamStart{})
}

// open opens the stream of a session for a request. The caller holds the lock.
func (n *connection) open(ctx context.Context, r *jsonrpc.Request, s *copilot.Session, from streamStart) (*subscription, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream := &subscription{cancel: cancel}
	cache, release := n.api.notifications.Acquire(s.ID())
	context.AfterFunc(ctx, release)
	out := &notifier{session: s.ID(), cache: cache, share: n.api.options.Sockets.Share, send: func(list []jsonrpc.Notification) error { return stream.send(ctx, r.Peer, list) }}
	reader := &streamReader{api: n.api, session: s, use: n.api.use(s), writer: out, encoder: newEncoder()}
	gap, err := reader.begin(ctx, from)
	if err != nil {
		cancel()
		return nil, err
	}
	reader.use.join(reader)                                     // from here on it sends the events
	context.AfterFunc(ctx, func() { reader.use.leave(reader) }) // also if the connection ends before that starts
	stream.start = sync.OnceFunc(func() {                       // in a goroutine: what else follows a batch must not wait
		n.work.Go(func() {
			defer n.ended(s.ID(), stream)
			n.api.follow(s, "")
			if reader.gap(gap) == nil {
				reader.run(ctx)
			}
			if ctx.Err() == nil { // by itself: the client must not wait for more
				_ = out.add(journal.Position{}, singleEvent("end", struct{}{}))
				_ = out.flush()
			}
		})
	})
	n.streams[s.ID()] = stream
	stream.join(r)
	return stream, nil
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

// ended removes a stream, unless another has replaced it.
func (n *connection) ended(id string, stream *subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	stream.cancel()
	if n.streams[id] == stream {
		delete(n.streams, id)
	}
}

// streamEvent is an event of a session as a notification.
type streamEvent struct {
	SessionID string `json:"sessionId"`
	ID        string `json:"id,omitempty"` // a position to continue from; of several events at one position, the last has it
	Event     string `json:"event"`
	Data      any    `json:"data"`
}

// notificationCache has shared messages as notifications.
type notificationCache = wire.Cache[journal.Position, jsonrpc.Notification]

// notifier sends events as notifications. It is used by one goroutine.
type notifier struct {
	session string
	send    func([]jsonrpc.Notification) error
	share   func(frame []byte) // says that all readers get a notification
	cache   *notificationCache
	pending []jsonrpc.Notification
}

// comment does nothing: the carrier keeps itself alive.
func (n *notifier) comment() error { return nil }

func (n *notifier) add(at journal.Position, messages []message) error {
	return encodeEntry(n.cache, at, messages, n.encode, n.share, func(e jsonrpc.Notification) { n.pending = append(n.pending, e) })
}

func (n *notifier) encode(at journal.Position, m message) (jsonrpc.Notification, error) {
	e := streamEvent{SessionID: n.session, Event: m.event, Data: m.payload()}
	if at != (journal.Position{}) {
		e.ID = at.String()
	}
	return jsonrpc.NewNotification(methodEvent, e)
}

func (n *notifier) isFull() bool { return len(n.pending) >= batchEvents }

func (n *notifier) flush() error {
	err := n.send(n.pending)
	clear(n.pending)
	n.pending = n.pending[:0]
	return err
}
