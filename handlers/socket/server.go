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
// connection is closed. The request's context must last as long as the connection; see [Lasting].
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
	decided := make(chan bool, 2) // whether the request is upgraded
	c := newConn(s, r, func() { decided <- true }, run)
	go func() {
		defer s.leave()
		defer func() { decided <- false }()
		defer c.recover()
		err := s.melody.HandleRequestWithKeys(&upgrade{w, r, c}, r, map[string]any{connKey: c})
		if err == nil { // else the request has been answered
			<-c.finished
		}
	}()
	return <-decided
}

// Lasting returns a request whose context lasts when its handler has returned, unlike that of net/http.
func Lasting(r *http.Request) *http.Request { return r.WithContext(context.WithoutCancel(r.Context())) }

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
