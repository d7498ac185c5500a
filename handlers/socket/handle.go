package socket

import (
	"context"
	"errors"
	"net"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"github.com/olahol/melody"
)

// connKey is the key of the connection in melody's session.
const connKey = "conn"

// handle registers the handlers of melody's events.
func handle(m *melody.Melody) {
	m.HandleConnect(func(s *melody.Session) { connOf(s).connected(s) })
	m.HandleMessage(func(s *melody.Session, text []byte) { connOf(s).text(text) })
	m.HandleMessageBinary(func(s *melody.Session, _ []byte) {
		connOf(s).refuse(melody.CloseUnsupportedData, "only text is understood here")
	})
	m.HandleClose(func(s *melody.Session, code int, _ string) error { connOf(s).closed(code); return nil })
	m.HandleError(func(s *melody.Session, err error) { connOf(s).stop(gone(err)) })
	m.HandleDisconnect(func(s *melody.Session) { close(connOf(s).down) })
}

// connOf returns the connection of a session.
func connOf(s *melody.Session) *Conn {
	c, _ := s.MustGet(connKey).(*Conn) // the key has nothing else
	return c
}

// connected starts the function.
func (c *Conn) connected(s *melody.Session) {
	c.session = s
	s.Request = nil // so that its memory is freed
	s.WebsocketConnection().SetPingHandler(c.pinged)
	ctx, cancel := context.WithCancelCause(c.life)
	c.cancel = cancel
	if c.server.add(c) {
		c.decided <- upgradeAccepted
	} else {
		c.run = func(_ context.Context, late *Conn) { late.Close(melody.CloseGoingAway, closeGoingAway) }
	}
	go c.serve(ctx)
}

// pinged answers a ping. gorilla would give the pong one second, and with it the frames that [Conn.Send] is writing, of which
// gorilla knows nothing: a slow client would be cut off.
func (c *Conn) pinged(data string) error {
	until := time.Now().Add(c.server.options.WriteTimeout)
	err := c.session.WebsocketConnection().WriteControl(websocket.PongMessage, []byte(data), until)
	var failed net.Error
	if errors.Is(err, websocket.ErrCloseSent) || errors.As(err, &failed) && failed.Timeout() {
		return nil // reads on: a close follows, or a long frame is still being written
	}
	return err
}

// text passes a message to [Conn.Receive]. Until that takes it, nothing more is read from this connection.
func (c *Conn) text(message []byte) {
	if !utf8.Valid(message) {
		c.refuse(melody.CloseInvalidFramePayloadData, "text has to be UTF-8")
		return
	}
	if c.server.options.IgnoresInput {
		return
	}
	select {
	case c.inbox <- message:
	case <-c.stopped: // the message is dropped
	}
}

// refuse closes the connection because of a message. It does not wait, so that reading continues until the client's close.
func (c *Conn) refuse(code int, reason string) {
	c.setCloseReason(code, reason)
	c.stop(gone(errors.New(reason)))
	go c.Close(code, reason)
}

// closed answers the close of the client. A proper close is answered only when the function has sent everything.
func (c *Conn) closed(code int) {
	switch code {
	case melody.CloseNormalClosure, melody.CloseGoingAway, melody.CloseNoStatusReceived:
		c.clientCode = code
		close(c.clientClosed)
		if c.server.options.IgnoresInput {
			c.stop(ErrClosed)
		}
		c.awaitClose(c.closeFrame)
	}
	c.setCloseReason(code, "")
	c.writeClose()
	c.wire.finished()
}
