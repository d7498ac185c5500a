package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// writeChunk is how many bytes of an answer have a deadline of their own.
const writeChunk = 64 << 10

// conn is a connection of a client. net/http sets deadlines for the heads of requests;
// here each write has one, until the connection becomes a WebSocket, whose dialect
// knows its own.
type conn struct {
	net.Conn

	limits    limits
	admission *connectionLimiter
	from      netip.Prefix
	since     time.Time
	head      head
	upgraded  atomic.Bool
	unread    atomic.Bool // the client may still be sending a body that nobody reads
	admitted  atomic.Bool
}

// connKey is under which the context of a request has its connection.
type connKey struct{}

// connOf is the connection of a request; nil in tests without one.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// markAuthenticated notes that the client of a connection may be here, which it has shown by a request.
func markAuthenticated(r *http.Request) {
	if c := connOf(r.Context()); c != nil {
		c.markAuthenticated()
	}
}

func (c *conn) markAuthenticated() {
	if c.admitted.CompareAndSwap(false, true) {
		c.admission.remove(c)
	}
}

// follow is told by net/http how it stands with a connection.
func follow(network net.Conn, state http.ConnState) {
	c, ok := network.(*conn)
	if !ok {
		return
	}
	switch state {
	case http.StateHijacked:
		c.upgraded.Store(true)
	case http.StateIdle:
		c.unread.Store(false)
	case http.StateNew, http.StateActive, http.StateClosed:
	}
}

// Read keeps the head of the request that comes.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.upgraded.Load() {
		c.head.add(b[:n])
	}
	return n, err
}

// Write gives a client that does not read a limited time for each chunk.
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

// CloseWrite tells the client that nothing more follows.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SetWriteBuffer says how much the system may keep for a client that does not read.
func (c *conn) SetWriteBuffer(bytes int) error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		return tcp.SetWriteBuffer(bytes)
	}
	return errors.ErrUnsupported
}

// Close lets a client that is still sending read its answer first: the system would
// throw that away if the connection were closed with something unread in it.
func (c *conn) Close() error {
	c.markAuthenticated()
	if c.unread.CompareAndSwap(true, false) && c.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(c.limits.linger)) // fails as reading does
		_, _ = io.CopyN(io.Discard, c.Conn, maxDiscarded)
	}
	return c.Conn.Close()
}

// maxDiscarded is how many bytes of a body that nobody wants are taken.
const maxDiscarded = 1 << 20

// limitedListener is a listener whose connections have limits.
type limitedListener struct {
	net.Listener

	limits    limits
	admission *connectionLimiter
	log       *slog.Logger
	warned    time.Time
}

// Accept waits for the next connection. net/http calls it again after it has failed,
// which it may do many times a second.
func (d *limitedListener) Accept() (net.Conn, error) {
	network, err := d.Listener.Accept()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		d.exhausted(err)
	}
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: network, limits: d.limits, admission: d.admission, from: clientNetwork(network.RemoteAddr()), since: time.Now()}
	d.admission.add(c)
	return c, nil
}

// exhausted makes room, and says once in a while what is wrong.
func (d *limitedListener) exhausted(err error) {
	d.admission.evictOld()
	if now := time.Now(); d.warned.IsZero() || now.Sub(d.warned) > d.limits.warning {
		d.warned = now
		d.log.Warn("out of file descriptors: new connections have to wait; raise the limit (ulimit -n) or close sessions and clients", "err", err)
	}
}

// clientNetwork is what counts as one client: an address, or the network of one in
// version 6, which has as many as it likes.
func clientNetwork(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	addr, bits := tcp.AddrPort().Addr().Unmap().WithZone(""), 32
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // never too many
	return prefix
}
