package socket

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// upgrade is the answer to a request that wants a WebSocket. It puts a wire between that and the network.
type upgrade struct {
	http.ResponseWriter

	conn *Conn
}

// Hijack is called once, when the request has been found good.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	network, buffers, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.Header().Del("Connection") // melody copies what is set for a refusal into the answer to the upgrade
	options := u.conn.server.options
	if tcp, ok := network.(interface{ SetWriteBuffer(bytes int) error }); ok && options.SendBuffer > 0 {
		_ = tcp.SetWriteBuffer(options.SendBuffer) // as many, then
	}
	u.conn.wire = &netConn{Conn: network, writing: make(chan struct{}, 1), silence: options.Silence, linger: options.Linger}
	return u.conn.wire, buffers, nil
}

// A wire is the network as melody and gorilla see it.
type netConn struct {
	net.Conn

	silence, linger time.Duration
	deadline        time.Time     // of the next Write; gorilla calls both under a lock of its own
	writing         chan struct{} // is full while somebody writes: one frame, or several, or a part of a long one of [Conn.Send]
	over            atomic.Bool   // there is nothing more to be read, or nobody to read what was written
}

// Read waits as long as a client may be silent, whatever deadline melody has set: that counts from the last pong that was
// looked at, as if a client that is not being read, or that is still sending a long message, were silent.
func (w *netConn) Read(b []byte) (int, error) {
	_ = w.SetReadDeadline(time.Now().Add(w.silence)) // fails as reading does
	n, err := w.Conn.Read(b)
	if err != nil {
		w.finished()
	}
	return n, err
}

// SetWriteDeadline keeps a deadline for the next Write. What is being written now has its own.
func (w *netConn) SetWriteDeadline(deadline time.Time) error {
	w.deadline = deadline
	return nil
}

// Write writes until the deadline, to which it adds the time that it has waited for its turn: else a ping behind a long frame would
// be late before it begins, and end the connection.
func (w *netConn) Write(b []byte) (int, error) {
	asked := time.Now()
	w.writing <- struct{}{}
	defer func() { <-w.writing }()
	if w.deadline.IsZero() {
		return w.write(w.deadline, b)
	}
	return w.write(w.deadline.Add(time.Since(asked)), b)
}

// writeWithin writes in a time of its own, which begins with its turn.
func (w *netConn) writeWithin(timeout time.Duration, b []byte) error {
	w.writing <- struct{}{}
	defer func() { <-w.writing }()
	_, err := w.write(time.Now().Add(timeout), b)
	return err
}

func (w *netConn) write(deadline time.Time, b []byte) (int, error) {
	_ = w.Conn.SetWriteDeadline(deadline) // fails as writing does
	n, err := w.Conn.Write(b)
	if err != nil {
		w.finished()
	}
	return n, err
}

// Close reads to the end what the client is still sending, unless that is known to be nothing: otherwise the client's system would
// throw away what it has not read yet, such as the close frame that says why.
func (w *netConn) Close() error {
	half, ok := w.Conn.(interface{ CloseWrite() error })
	if ok && !w.over.Load() && half.CloseWrite() == nil {
		late := time.AfterFunc(w.linger, w.abort)
		defer late.Stop()
		_ = w.SetReadDeadline(time.Time{})
		_, _ = io.Copy(io.Discard, w.Conn)
	}
	return w.Conn.Close()
}

func (w *netConn) finished() { w.over.Store(true) }

// abort closes at once.
func (w *netConn) abort() { _ = w.Conn.Close() }
