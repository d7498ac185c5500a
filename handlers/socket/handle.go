package socket

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"github.com/olahol/melody"
)

// connKey is under which melody's session keeps a connection.
const connKey = "conn"

// handle sets what melody calls.
func handle(m *melody.Melody) {
	on := func(do func(*Conn, []byte)) func(*melody.Session, []byte) {
		return func(s *melody.Session, b []byte) { do(connOf(s), b) }
	}
	m.HandleConnect(func(s *melody.Session) { connOf(s).connected(s) })
	m.HandleMessage(on((*Conn).text))
	m.HandleMessageBinary(on((*Conn).binary))
	m.HandleSentMessage(on((*Conn).sent))
	m.HandleClose(func(s *melody.Session, code int, _ string) error { connOf(s).closed(code); return nil })
	m.HandleError(func(s *melody.Session, err error) { connOf(s).stop(gone(err)) })
	m.HandleDisconnect(func(s *melody.Session) { close(connOf(s).down) })
}

// connOf is the connection of a session.
func connOf(s *melody.Session) *Conn {
	c, _ := s.MustGet(connKey).(*Conn) // nobody else sets it
	return c
}

// connected begins with the function, which may send at once: what it sends waits in melody's buffer.
func (c *Conn) connected(s *melody.Session) {
	c.session = s
	s.WebsocketConnection().EnableWriteCompression(false) // what melody writes is not, as it cannot be told how long it is
	if c.server.options.Deaf {
		s.WebsocketConnection().SetPingHandler(c.pinged)
	}
	c.deflates = c.server.options.Compress && offersDeflate(c.request)
	ctx, cancel := context.WithCancelCause(c.request.Context())
	c.cancel = cancel
	if !c.server.add(c) {
		c.run = func(_ context.Context, late *Conn) { late.Close(melody.CloseGoingAway, closeGoingAway) }
	}
	go c.serve(ctx)
}

// pinged answers a ping. gorilla would have that done within a second, and by that also what [Conn.SendAll] is writing just
// then, of which gorilla knows nothing: a slow client would be cut off.
func (c *Conn) pinged(data string) error {
	until := time.Now().Add(c.server.options.WriteTimeout)
	err := c.session.WebsocketConnection().WriteControl(websocket.PongMessage, []byte(data), until)
	if errors.Is(err, websocket.ErrCloseSent) {
		return nil // and reads on until the client's
	}
	return err
}

// text hands a message over. Until it is taken, nothing more is read from this connection.
func (c *Conn) text(message []byte) {
	if !utf8.Valid(message) {
		c.refuse(melody.CloseInvalidFramePayloadData, "text has to be UTF-8")
		return
	}
	c.deliver(message)
}

func (c *Conn) binary(message []byte) {
	if !c.server.options.Binary {
		c.refuse(melody.CloseUnsupportedData, "only text is understood here")
		return
	}
	c.deliver(message)
}

func (c *Conn) deliver(message []byte) {
	if c.server.options.Deaf {
		return
	}
	select {
	case c.inbox <- message:
	case <-c.stopped: // it is thrown away
	}
}

// refuse closes because of what the client said. It does not wait, so that reading goes on until the client's close.
func (c *Conn) refuse(code int, reason string) {
	c.setCloseReason(code, reason)
	c.stop(gone(errors.New(reason)))
	go c.Close(code, reason)
}

// sent gives a credit back.
func (c *Conn) sent([]byte) { c.credits <- struct{}{} }

// closed answers the close of the client. If that was a good one, it is not answered before everything is said here, too.
func (c *Conn) closed(code int) {
	switch code {
	case melody.CloseNormalClosure, melody.CloseGoingAway, melody.CloseNoStatusReceived:
		c.clientCode = code
		close(c.clientClosed)
		if c.server.options.Deaf {
			c.stop(ErrClosed)
		}
		c.awaitClose(c.closeFrame)
	}
	c.setCloseReason(code, "")
	c.writeClose()
	c.wire.finished()
}
