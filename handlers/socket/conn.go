package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/olahol/melody"
)

var (
	// ErrClosed is the error of sending and receiving after a close on this side.
	ErrClosed = errors.New("the connection was closed")
	// ErrGone is wrapped by their errors when the client is gone.
	ErrGone = errors.New("the client is gone")
)

// Conn is a connection. Its methods are safe for concurrent use.
type Conn struct {
	server  *Server
	life    context.Context //nolint:containedctx // ends the connection
	path    string
	decided chan<- decision
	run     func(context.Context, *Conn)
	wire    *netConn        // since the upgrade
	session *melody.Session // likewise

	extension extension
	sending   chan struct{} // full while frames are being written, and after the last ones
	context   []byte        // the last compressed frame, to which the next may refer; nil for none. Used while sending
	inbox     chan []byte   // unbuffered

	clientClosed chan struct{} // closed when the client has sent its close
	clientCode   int           // of that close; read only after clientClosed
	stopped      chan struct{} // closed when nothing more may be sent or received
	err          error         // why; read only after stopped
	code         int           // of our close; read only after setCloseReason
	reason       string        // likewise
	closeFrame   chan struct{} // closed when our close frame was written, or could not be
	down         chan struct{} // closed when the connection has ended
	finished     chan struct{} // closed when the function has returned and the connection has ended

	cancel context.CancelCauseFunc // ends the context of the function
	once   struct{ setCloseReason, stop, closeFrame, close sync.Once }
}

func newConn(s *Server, r *http.Request, decided chan<- decision, run func(context.Context, *Conn)) *Conn {
	return &Conn{
		server: s, life: lifeOf(r), path: strings.Clone(r.URL.Path), decided: decided, run: run,
		sending:      make(chan struct{}, 1),
		inbox:        make(chan []byte),
		clientClosed: make(chan struct{}),
		stopped:      make(chan struct{}),
		closeFrame:   make(chan struct{}),
		down:         make(chan struct{}),
		finished:     make(chan struct{}),
	}
}

// Receive returns the next message. Errors: [io.EOF] when the client has closed properly, [ErrClosed], [ErrGone], ctx.Err().
func (c *Conn) Receive(ctx context.Context) ([]byte, error) {
	select {
	case message := <-c.inbox:
		return message, nil
	case <-c.clientClosed:
	case <-c.stopped:
	case <-ctx.Done():
	}
	select {
	case <-c.clientClosed: // it counts even if the connection has ended since
		return nil, io.EOF
	default:
		return nil, c.contextError(ctx)
	}
}

// contextError returns why a call with a context fails. The context of the function also ends when the connection does, so the
// reason of that comes first.
func (c *Conn) contextError(ctx context.Context) error {
	select {
	case <-c.stopped:
		return c.err
	default:
		return ctx.Err()
	}
}

// gone wraps a cause with [ErrGone].
func gone(cause error) error { return fmt.Errorf("%w: %w", ErrGone, cause) }
