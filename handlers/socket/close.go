package socket

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"github.com/olahol/melody"

	"github.com/copilot-portal/portal/copilot/fault"
)

const (
	closeGoingAway = "the portal is stopping"
	// maxReason is the longest reason in a close frame, in bytes.
	maxReason = 123
)

// Close closes the connection and returns when it is closed. Frames that are being sent go out first, if the client takes
// them within [Options.WriteTimeout]. Only the first call has an effect. A long reason is cut.
func (c *Conn) Close(code int, reason string) {
	c.setCloseReason(code, reason)
	c.stop(ErrClosed)
	c.once.close.Do(func() {
		c.drain()
		c.writeClose()
		c.awaitClose(c.down)
		c.abort()
	})
	<-c.down
}

// setCloseReason sets the code and the reason of our close. It is called before stop: then the function may return, which
// closes the connection, too.
func (c *Conn) setCloseReason(code int, reason string) {
	c.once.setCloseReason.Do(func() { c.code, c.reason = code, reason })
}

// stop ends sending and receiving. The first error counts.
func (c *Conn) stop(err error) {
	c.once.stop.Do(func() {
		c.err = err
		close(c.stopped)
		c.cancel(err)
	})
}

// drain waits until no frame is being written.
func (c *Conn) drain() {
	timeout := time.NewTimer(c.server.options.WriteTimeout)
	defer timeout.Stop()
	select {
	case c.sending <- struct{}{}:
	case <-c.down:
	case <-timeout.C:
	}
}

// writeClose writes the close frame past melody, which would cut the connection behind it. A close of the client is answered
// with its own code. If a frame before it takes too long, the connection is cut off.
func (c *Conn) writeClose() {
	c.once.closeFrame.Do(func() {
		defer close(c.closeFrame)
		code, reason := c.code, c.reason
		select {
		case <-c.clientClosed:
			code, reason = c.clientCode, ""
		default:
		}
		late := time.AfterFunc(c.server.options.Linger, c.wire.abort)
		defer late.Stop()
		text := websocket.FormatCloseMessage(code, shorten(reason))
		deadline := time.Now().Add(c.server.options.Linger)
		_ = c.session.WebsocketConnection().WriteControl(websocket.CloseMessage, text, deadline) // or it is cut off without
	})
}

// awaitClose waits for a channel, at most as long as a close may take.
func (c *Conn) awaitClose(done <-chan struct{}) {
	timeout := time.NewTimer(c.server.options.Linger)
	defer timeout.Stop()
	select {
	case <-done:
	case <-c.down:
	case <-timeout.C:
	}
}

// abort ends the connection at once; its reader notices.
func (c *Conn) abort() {
	c.stop(ErrClosed)
	c.wire.abort()
}

// serve runs the function and closes. A panic must not end the process.
func (c *Conn) serve(ctx context.Context) {
	defer close(c.finished)
	defer c.server.remove(c)
	code, reason := melody.CloseInternalServerErr, "internal error"
	defer func() {
		if fault := recover(); fault != nil {
			c.logPanic(fault)
		}
		c.Close(code, reason)
	}()
	c.run(ctx, c)
	code, reason = melody.CloseNormalClosure, ""
	if cause := context.Cause(c.life); cause != nil {
		code, reason = melody.CloseGoingAway, closeGoingAway
		if ended, ok := errors.AsType[*fault.Error](cause); ok { // the client has lost its right to the connection
			code, reason = melody.ClosePolicyViolation, ended.Text
		}
	}
}

func (c *Conn) logPanic(fault any) {
	c.server.options.Log.Error("a handler of a WebSocket panicked", "path", c.path, "panic", fault, "stack", string(debug.Stack()))
}

// shorten cuts a reason between two characters.
func shorten(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	end := maxReason
	for !utf8.RuneStart(reason[end]) {
		end--
	}
	return reason[:end]
}
