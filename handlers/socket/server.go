package socket

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/olahol/melody"

	"github.com/copilot-portal/portal/handlers/wire"
)

// Server serves connections.
type Server struct {
	options Options
	melody  *melody.Melody
	shared  wire.Deflater

	mu      sync.Mutex
	conns   map[*Conn]struct{}
	serving int           // calls of Serve
	closing bool          // no connection is accepted any more
	empty   chan struct{} // closed when closing and no call of Serve is left
}

// New returns a server. The caller must close it.
func New(options Options) *Server {
	options = options.withDefaults()
	var checkOrigin func(*http.Request) bool // nil: gorilla's own
	if options.AnyOrigin {
		checkOrigin = func(*http.Request) bool { return true }
	}
	s := &Server{options: options, conns: map[*Conn]struct{}{}, empty: make(chan struct{})}
	m := melody.New()
	m.Config = &melody.Config{
		WriteWait:      options.WriteTimeout,
		PongWait:       options.Silence,
		PingPeriod:     options.PingEvery,
		MaxMessageSize: options.MaxMessage,
	}
	m.Upgrader = &websocket.Upgrader{
		HandshakeTimeout: 10 * time.Second,
		ReadBufferSize:   1 << 10, // clients send little, and long messages are read past it
		WriteBufferSize:  16 << 10,
		WriteBufferPool:  &sync.Pool{}, // idle connections have none
		Error:            s.refuse,

		Subprotocols: options.Subprotocols, CheckOrigin: checkOrigin,
	}
	handle(m)
	s.melody = m
	return s
}

// Serve upgrades a request, and reports whether it did; otherwise it has answered the request. It returns before the connection
// ends, so that net/http's memory for the request is freed. The function runs on a goroutine of its own; when it returns, the
// connection is closed. Its context has the values of the request's, and ends with that only if it is [Lasting].
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, run func(context.Context, *Conn)) (upgraded bool) {
	if !s.enter() {
		s.refuse(w, r, http.StatusServiceUnavailable, errors.New("the portal is stopping"))
		return false
	}
	if !websocket.IsWebSocketUpgrade(r) {
		s.leave()
		s.refuse(w, r, http.StatusUpgradeRequired, errors.New("this address is for WebSockets; the request asks for none"))
		return false
	}
	decided := make(chan decision, 2) // the second one is not read
	c := newConn(s, r, decided, run)
	go func() {
		defer s.leave()
		decided <- c.receive(w, r)
	}()
	switch <-decided {
	case upgradeAccepted:
		return true
	case upgradePanicked:
		panic(http.ErrAbortHandler)
	case upgradeRefused:
	}
	return false
}

// decision is what became of a request for an upgrade.
type decision int

const (
	upgradeRefused  decision = iota // and answered, or accepted but too late for the function to run
	upgradeAccepted                 // the function runs
	upgradePanicked                 // a fault, which has been logged
)

// receive upgrades a request, reads the connection to its end, and returns when the function has returned, too.
func (c *Conn) receive(w http.ResponseWriter, r *http.Request) (d decision) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		c.logPanic(fault)
		d = upgradePanicked
		if c.session != nil {
			c.abort()
			close(c.down)
			<-c.finished
		}
	}()
	if c.server.melody.HandleRequestWithKeys(&upgrade{w, r, c}, r, map[string]any{connKey: c}) == nil {
		<-c.finished
	}
	return upgradeRefused
}

type lastingKey struct{}

// Lasting returns a context for requests, without the end of its parent: net/http ends a request's context when its handler returns,
// and a WebSocket lives on. It or its children end the connections of their requests when they are canceled, with the cause as the
// reason if that is a [fault.Error].
func Lasting(parent context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(parent), lastingKey{}, true)
}

// lifeOf returns the context of a request's connection.
func lifeOf(r *http.Request) context.Context {
	if r.Context().Value(lastingKey{}) != nil {
		return r.Context()
	}
	return context.WithoutCancel(r.Context())
}

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.serving++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving--; s.serving == 0 && s.closing {
		close(s.empty)
	}
}

// add registers a connection; false if the server is closing.
func (s *Server) add(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) remove(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Close closes all connections with 1001, concurrently, and waits until all calls of Serve have returned. When the context
// ends first, it cuts the remaining connections off and returns ctx.Err().
func (s *Server) Close(ctx context.Context) error {
	conns := s.stop()
	for _, c := range conns {
		go c.Close(melody.CloseGoingAway, closeGoingAway)
	}
	select {
	case <-s.empty:
		return nil
	case <-ctx.Done():
		for _, c := range conns {
			c.abort()
		}
		return ctx.Err()
	}
}

// stop accepts no more connections and returns the present ones.
func (s *Server) stop() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing && s.serving == 0 {
		close(s.empty)
	}
	s.closing = true
	conns := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}
