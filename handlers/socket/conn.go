package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/olahol/melody"
)

// credits is how many frames of a connection may be on their way.
const credits = 8

var (
	// ErrClosed is what sending and receiving fail with after a close on this side.
	ErrClosed = errors.New("the connection was closed")
	// ErrGone is what they fail with, wrapped, when the client is gone.
	ErrGone = errors.New("the client is gone")
)

// Conn is a connection. All its methods may be called at any time by anybody.
type Conn struct {
	server  *Server
	request *http.Request
	run     func(context.Context, *Conn)
	wire    *netConn        // since the upgrade
	session *melody.Session // likewise

	deflates bool // frames to this client may be compressed

	credits chan struct{} // each is the right to hand a frame over
	inbox   chan []byte   // without a buffer

	clientClosed chan struct{} // closed when the client has said all
	clientCode   int           // how it closed; to be read only after said
	stopped      chan struct{} // closed when nothing more may be sent or received
	err          error         // why; to be read only after stopped
	code         int           // how to close; to be read only once it is decided
	reason       string        // likewise
	closeFrame   chan struct{} // closed when our close frame was written, or could not be
	down         chan struct{} // closed when the connection has ended
	finished     chan struct{} // closed when all is over

	cancel context.CancelCauseFunc // ends the context of the function
	once   struct{ setCloseReason, stop, closeFrame, close sync.Once }
}

func newConn(s *Server, r *http.Request, run func(context.Context, *Conn)) *Conn {
	c := &Conn{
		server: s, request: r, run: run,
		credits:      make(chan struct{}, credits),
		inbox:        make(chan []byte),
		clientClosed: make(chan struct{}),
		stopped:      make(chan struct{}),
		closeFrame:   make(chan struct{}),
		down:         make(chan struct{}),
		finished:     make(chan struct{}),
	}
	for range credits {
		c.credits <- struct{}{}
	}
	return c
}

// Request is the request that was upgraded. Its body cannot be read.
func (c *Conn) Request() *http.Request { return c.request }

// Send hands a frame of text over, which must not be changed any more; several connections may share it. It waits while the
// client is slow. It returns nil when the frame will be written before all later ones, and before any close on this side,
// if the client reads them. It fails with [ErrClosed], [ErrGone] or ctx.Err().
func (c *Conn) Send(ctx context.Context, frame []byte) error {
	select {
	case <-c.credits:
	case <-c.stopped:
		return c.err
	case <-ctx.Done():
		return c.contextError(ctx)
	}
	select {
	case <-c.stopped: // both were there
		c.credits <- struct{}{}
		return c.err
	default:
	}
	if err := c.session.WriteWithDeadline(frame, c.server.options.writeTimeout(len(frame))); err != nil {
		return gone(err) // the credit is of no use any more
	}
	return nil
}

// Receive returns the next message, or [io.EOF] when the client has closed as it should; otherwise it fails with
// [ErrClosed], [ErrGone] or ctx.Err().
func (c *Conn) Receive(ctx context.Context) ([]byte, error) {
	select {
	case message := <-c.inbox:
		return message, nil
	case <-c.clientClosed:
	case <-c.stopped:
	case <-ctx.Done():
	}
	select {
	case <-c.clientClosed: // what followed changes nothing about it
		return nil, io.EOF
	default:
		return nil, c.contextError(ctx)
	}
}

// contextError is why something that was begun with a context fails. The context of the function ends when it must fail, so it comes second.
func (c *Conn) contextError(ctx context.Context) error {
	select {
	case <-c.stopped:
		return c.err
	default:
		return ctx.Err()
	}
}

// gone is ErrGone with a cause.
func gone(cause error) error { return fmt.Errorf("%w: %w", ErrGone, cause) }
