// Package bridge lets a UI that speaks on standard streams use a portal that runs
// already: a line of its input becomes a frame of a WebSocket, a frame a line of
// its output. It looks into neither, and answers only what no frame can carry.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// Options of a bridge.
type Options struct {
	Address      string        // of the portal, as a person writes it
	Token        string        // of the portal, over the one in the address
	DefaultToken string        // if there is neither
	Directory    string        // of the UI
	In           io.ReadCloser // should end when the context does; is closed in the end
	Out          io.Writer
}

// MaxLine is the longest line, in bytes. The portal takes frames as long.
const MaxLine = 64 << 20

const (
	// lastAnswers is how long the portal may take to answer what was asked last. It
	// takes itself a little less.
	lastAnswers = 12 * time.Second
	// closePatience is the same when there is no time any more.
	closePatience = 1500 * time.Millisecond
)

// Run connects and carries lines until the input ends, and then what the portal
// answers to them. It returns nil when the portal has closed the connection after
// that, or when ctx ends. Other errors are texts for people.
func Run(ctx context.Context, o Options) error {
	defer o.In.Close() //nolint:errcheck // nobody reads it any more
	to, err := parse(o.Address)
	if err != nil {
		return err
	}
	conn, err := dial(ctx, to, o)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it has ended, or must
	b := &bridge{to: to, conn: conn, lines: jsonrpc.NewLines(o.In, nopCloser{o.Out}, jsonrpc.LineOptions{Max: MaxLine})}
	return b.run(ctx)
}

// bridge is one that stands.
type bridge struct {
	to    target
	conn  *websocket.Conn
	lines *jsonrpc.Lines

	writing sync.Mutex // held while lines are written
}

// nopCloser is what somebody else closes.
type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }

func (b *bridge) run(ctx context.Context) error {
	said, heard := make(chan error, 1), make(chan error, 1)
	go func() { said <- b.sendLines() }()
	go func() { heard <- b.receive() }()
	select {
	case err := <-heard:
		return b.ended(err)
	case err := <-said:
		return b.finish(ctx, err, heard)
	case <-ctx.Done():
		return b.finish(ctx, <-said, heard)
	}
}

// finish waits for the last answers when nothing more is said, because of the
// input's end or of fault. The portal is told of the end only here, where its close
// in return cannot be taken for one of its own.
func (b *bridge) finish(ctx context.Context, fault error, heard <-chan error) error {
	if fault == nil {
		fault = b.sendClose()
	}
	within := lastAnswers
	if fault != nil {
		within = closePatience // the portal may have said why
	}
	late := time.NewTimer(within)
	defer late.Stop()
	over := ctx.Done()
	for {
		select {
		case err := <-heard:
			if fault == nil && isGood(err) {
				return nil
			}
			return b.ended(err)
		case <-late.C:
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("the portal at %s does not answer any more", b.to)
		case <-over:
			over = nil
			late.Reset(closePatience)
		}
	}
}

// isGood says whether a connection has ended as it should when both have said all.
func isGood(err error) bool {
	return websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived)
}

// outputError is a fault of the standard output.
type outputError struct{ error }

// ended says why a connection has ended that should not have.
func (b *bridge) ended(err error) error {
	var output outputError
	var closed *websocket.CloseError
	switch {
	case errors.As(err, &output):
		return fmt.Errorf("the UI takes no more lines: %w", output.error)
	case websocket.IsCloseError(err, websocket.CloseGoingAway):
		return fmt.Errorf("the portal at %s has stopped; start it again with: portal", b.to)
	case errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure:
		return fmt.Errorf("the portal at %s has closed the connection: %d %q", b.to, closed.Code, closed.Text)
	}
	return fmt.Errorf("the portal at %s is gone (%w); if it does not run any more, start it again with: portal", b.to, err)
}
