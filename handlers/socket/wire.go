package socket

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// upgrade is the response to a request for a WebSocket. It puts a [netConn] between that and the network.
type upgrade struct {
	http.ResponseWriter

	request *http.Request
	conn    *Conn
}

// Hijack is called once, when the request is accepted.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	network, buffers, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.Header().Del("Connection") // melody copies headers set for a refusal into the response to the upgrade
	options := u.conn.server.options
	if tcp, ok := network.(interface{ SetWriteBuffer(bytes int) error }); ok && options.SendBuffer > 0 {
		_ = tcp.SetWriteBuffer(options.SendBuffer) // else the default remains
	}
	w := &netConn{Conn: network, writing: make(chan struct{}, 1), silence: options.Silence, linger: options.Linger}
	w.input = networkInput{w}
	if options.Compress {
		u.agree(options, w)
	}
	u.conn.wire = w
	return w, buffers, nil
}

// agree agrees on compression with the client. gorilla knows it only without context and without a limit, so it must not know of
// this; it copies the header because of how it is spelled.
func (u *upgrade) agree(options Options, w *netConn) {
	u.conn.extension = agree(u.request)
	if u.conn.extension.compresses {
		u.Header()["Sec-WebSocket-Extensions"] = []string{u.conn.extension.answer}
		w.input = newInflater(networkInput{w}, options.MaxMessage)
	}
}

// netConn is the network connection as melody and gorilla see it.
type netConn struct {
	net.Conn

	silence, linger time.Duration
	input           io.Reader
	deadline        time.Time     // of the next Write; gorilla calls both under a lock of its own
	writing         chan struct{} // full while whole frames are being written
	over            atomic.Bool   // nothing more can be read, or nothing more can be written
}

// Read reads what the client sends, without compression.
func (w *netConn) Read(b []byte) (int, error) { return w.input.Read(b) }

// networkInput is what the client sends.
type networkInput struct{ *netConn }

// Read waits as long as a client may be silent, regardless of melody's deadline: that counts from the last pong it has handled,
// as if a client that is not being read, or is still sending a long message, were silent.
func (w networkInput) Read(b []byte) (int, error) {
	_ = w.SetReadDeadline(time.Now().Add(w.silence)) // fails as reading does
	n, err := w.Conn.Read(b)
	if err != nil {
		w.finished()
	}
	return n, err
}

// SetWriteDeadline sets the deadline of the next Write only. The current one has its own.
func (w *netConn) SetWriteDeadline(deadline time.Time) error {
	w.deadline = deadline
	return nil
}

// Write writes until the deadline, which it extends by the time spent waiting for other writes, and to a second at least: else a
// ping behind a long frame would be late before it begins, and end the connection.
func (w *netConn) Write(b []byte) (int, error) {
	asked := time.Now()
	w.writing <- struct{}{}
	defer func() { <-w.writing }()
	deadline := w.deadline
	if !deadline.IsZero() {
		deadline = time.Now().Add(max(deadline.Sub(asked), time.Second))
	}
	n, err := w.write(deadline, b)
	if err != nil {
		w.finished()
	}
	return n, err
}

// writeAll writes as long as the client takes something within each timeout, so a slow client is not cut off.
func (w *netConn) writeAll(timeout time.Duration, b []byte) error {
	w.writing <- struct{}{}
	defer func() { <-w.writing }()
	for {
		n, err := w.write(time.Now().Add(timeout), b)
		b = b[n:]
		switch {
		case err == nil:
			return nil
		case n == 0 || !errors.Is(err, os.ErrDeadlineExceeded):
			w.finished()
			return err
		}
	}
}

func (w *netConn) write(deadline time.Time, b []byte) (int, error) {
	_ = w.Conn.SetWriteDeadline(deadline) // fails as writing does
	return w.Conn.Write(b)
}

// Close first reads to the end of what the client is sending, unless it sends nothing more: otherwise the client's system would
// drop what the client has not read yet, such as the close frame.
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
