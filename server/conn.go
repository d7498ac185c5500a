package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// writeChunk is the number of bytes of a response that share one write deadline.
const writeChunk = 64 << 10

// conn is the connection of a client. net/http sets the read deadlines of request heads; conn sets a deadline
// for each write until the connection becomes a WebSocket, whose dialect sets its own.
type conn struct {
	net.Conn

	limits   limits
	limiter  *connectionLimiter
	count    *connectionCount
	from     netip.Prefix
	since    time.Time
	head     head
	upgraded atomic.Bool
	unread   atomic.Bool // the client may still be sending a body that no handler reads
	admitted atomic.Bool
	end      connEnd
}

// connKey is the context key of a request's connection.
type connKey struct{}

// connOf returns the connection of a request, or nil in tests without one.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// afterRequest calls f when the request of a handler that is about to return has ended: now, or, if it has become a WebSocket, when
// its connection has been closed.
func afterRequest(r *http.Request, f func()) {
	if c := connOf(r.Context()); c != nil && c.upgraded.Load() {
		c.end.do(f)
		return
	}
	f()
}

// markAuthenticated records that the client of a connection has sent an accepted request.
func markAuthenticated(r *http.Request) {
	if c := connOf(r.Context()); c != nil {
		c.markAuthenticated()
	}
}

func (c *conn) markAuthenticated() {
	if c.admitted.CompareAndSwap(false, true) {
		c.limiter.remove(c)
	}
}

// follow handles the state changes that net/http reports for a connection.
func follow(network net.Conn, state http.ConnState) {
	c, ok := network.(*conn)
	if !ok {
		return
	}
	switch state {
	case http.StateHijacked:
		c.upgraded.Store(true)
		c.head.drop()
	case http.StateIdle:
		c.unread.Store(false)
	case http.StateNew, http.StateActive, http.StateClosed:
	}
}

// Read reads from the connection and keeps the head of the current request.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.upgraded.Load() {
		c.head.add(b[:n])
	}
	return n, err
}

// Write writes b with one deadline per chunk.
func (c *conn) Write(b []byte) (written int, err error) {
	if c.upgraded.Load() {
		return c.Conn.Write(b)
	}
	for err == nil && written < len(b) {
		var n int
		_ = c.SetWriteDeadline(time.Now().Add(c.limits.write)) // fails as writing does
		n, err = c.Conn.Write(b[written:min(written+writeChunk, len(b))])
		written += n
	}
	return written, err
}

// CloseWrite closes the sending side of the connection.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SetWriteBuffer sets the size of the system's send buffer, in bytes.
func (c *conn) SetWriteBuffer(bytes int) error {
	network := c.Conn
	if encrypted, ok := network.(tlsConn); ok {
		network = encrypted.NetConn()
	}
	if tcp, ok := network.(*net.TCPConn); ok {
		return tcp.SetWriteBuffer(bytes)
	}
	return errors.ErrUnsupported
}

// Close closes the connection. A client that is still sending may first read its response: closing a socket
// with unread input would discard the response.
func (c *conn) Close() error {
	c.markAuthenticated()
	if c.unread.CompareAndSwap(true, false) && c.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(c.limits.linger)) // fails as reading does
		_, _ = io.CopyN(io.Discard, c.Conn, maxDiscarded)
	}
	defer func() {
		if c.end.reach() {
			c.count.closed()
		}
	}()
	return c.Conn.Close()
}

// connEnd is the end of a connection.
type connEnd struct {
	mu      sync.Mutex
	reached bool
	then    func()
}

// do calls f when the connection has been closed; at once if it has. It may be called once.
func (e *connEnd) do(f func()) {
	e.mu.Lock()
	e.then = f
	late := e.reached
	e.mu.Unlock()
	if late {
		e.reach()
	}
}

// reach says that the connection has been closed. It may be called repeatedly, and reports whether this is the first call.
func (e *connEnd) reach() (first bool) {
	e.mu.Lock()
	then := e.then
	first = !e.reached
	e.reached, e.then = true, nil
	e.mu.Unlock()
	if then != nil {
		then()
	}
	return first
}

// maxDiscarded is the maximum number of bytes discarded from an unread body.
const maxDiscarded = 1 << 20

// limitedListener is a listener that applies limits to its connections.
type limitedListener struct {
	net.Listener

	limits  limits
	limiter *connectionLimiter
	count   *connectionCount
	log     *slog.Logger
	warned  time.Time
}

// Accept waits for the next connection. After a failure, net/http calls it again, possibly many times a
// second.
func (d *limitedListener) Accept() (net.Conn, error) {
	network, err := d.Listener.Accept()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		d.exhausted(err)
	}
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: network, limits: d.limits, limiter: d.limiter, count: d.count, from: clientNetwork(network.RemoteAddr()), since: time.Now()}
	d.limiter.add(c)
	d.count.opened()
	return c, nil
}

// exhausted frees connections and logs a warning at most once per limits.warning.
func (d *limitedListener) exhausted(err error) {
	d.limiter.evictOld()
	if now := time.Now(); d.warned.IsZero() || now.Sub(d.warned) > d.limits.warning {
		d.warned = now
		d.log.Warn("out of file descriptors, new connections must wait: raise the limit (ulimit -n) or close sessions and clients", "err", err)
	}
}

// clientNetwork returns the network that counts as one client: an IPv4 address, or the /64 of an IPv6
// address, because a host has many of those.
func clientNetwork(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	addr, bits := tcp.AddrPort().Addr().Unmap().WithZone(""), 32
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // bits is never too large
	return prefix
}
