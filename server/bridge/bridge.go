// Package bridge connects a UI or an editor on standard streams to a running portal. Each input line becomes a WebSocket
// frame, and each frame an output line. The bridge does not inspect them, and only answers messages that no
// frame can carry.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gorilla/websocket"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// Options of a bridge.
type Options struct {
	Address      string        // as users write it
	Path         string        // of the dialect's WebSocket: "ui" or "acp"
	Token        string        // precedes the one in the address
	DefaultToken string        // used if there is no other
	Directory    string        // of the UI; "" if the dialect has no use for it
	In           io.ReadCloser // must end when the context is done; Run closes it
	Out          io.Writer
}

// MaxLine is the maximum length of a line, in bytes. The portal accepts frames of that length.
const MaxLine = 64 << 20

const (
	// lastAnswers is how long the portal may take to answer the last requests. The portal's own limit is a
	// little shorter.
	lastAnswers = 32 * time.Second
	// closePatience is that limit when the bridge has to end quickly.
	closePatience = 1500 * time.Millisecond
)

// Run connects and forwards lines until the input ends, and then the remaining answers. It returns nil when
// the portal has closed the connection after that, or when ctx is done. Other errors are meant for users.
func Run(ctx context.Context, o Options) error {
	defer o.In.Close() //nolint:errcheck // nobody reads it any more
	to, err := parse(o.Address, o.Path)
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
	defer conn.Close() //nolint:errcheck // it has ended or must end
	b := &bridge{to: to, conn: conn, lines: jsonrpc.NewLines(o.In, nopCloser{o.Out}, jsonrpc.LineOptions{Max: MaxLine})}
	return b.run(ctx)
}

// bridge is an open connection.
type bridge struct {
	to    target
	conn  *websocket.Conn
	lines *jsonrpc.Lines
}

// nopCloser is a writer that its owner closes.
type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }

// run forwards lines in both directions. It does not wait for its goroutines: a write to the output cannot be interrupted, and a UI
// may never read it.
func (b *bridge) run(ctx context.Context) error {
	sent, received := make(chan error, 1), make(chan error, 1)
	go func() { sent <- b.sendLines() }()
	go func() { received <- b.receive() }()
	select {
	case err := <-received:
		return b.ended(err)
	case err := <-sent:
		return b.finish(ctx, err, received)
	case <-ctx.Done():
	}
	late := time.NewTimer(closePatience)
	defer late.Stop()
	select {
	case err := <-received:
		return b.ended(err)
	case err := <-sent: // because the input has ended, too
		return b.finish(ctx, err, received)
	case <-late.C: // the portal does not take the line that is being sent
		return nil
	}
}

// finish waits for the last answers after the input has ended or sending has failed with fault. It sends the
// close frame only here, so that the portal's reply cannot be mistaken for a close of its own.
func (b *bridge) finish(ctx context.Context, fault error, received <-chan error) error {
	if fault == nil {
		fault = b.sendClose()
	}
	within := lastAnswers
	if fault != nil {
		within = closePatience // the portal may have sent the reason
	}
	late := time.NewTimer(within)
	defer late.Stop()
	over := ctx.Done()
	for {
		select {
		case err := <-received:
			if fault == nil && isGood(err) {
				return nil
			}
			return b.ended(err)
		case <-late.C:
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("the portal at %s stopped answering", b.to)
		case <-over:
			over = nil
			late.Reset(closePatience)
		}
	}
}

// isGood reports whether a connection ended as it should after both sides were done.
func isGood(err error) bool {
	return websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived)
}

// outputError is an error of standard output.
type outputError struct{ error }

// ended explains why a connection ended unexpectedly.
func (b *bridge) ended(err error) error {
	var output outputError
	var closed *websocket.CloseError
	switch {
	case errors.As(err, &output):
		return fmt.Errorf("cannot write to the UI: %w", output.error)
	case websocket.IsCloseError(err, websocket.CloseGoingAway):
		return fmt.Errorf("the portal at %s has stopped; start it again with: portal", b.to)
	case errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure:
		return fmt.Errorf("the portal at %s has closed the connection: %d %q", b.to, closed.Code, closed.Text)
	}
	return fmt.Errorf("the connection to the portal at %s was lost (%w); if the portal has stopped, start it again with: portal", b.to, err)
}
