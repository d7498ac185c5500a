package bridge

import (
	"bytes"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// sendLines sends the lines of the input and returns nil at its end. Until then nothing else sends, except
// pongs.
func (b *bridge) sendLines() error {
	for {
		line, err := b.lines.Read()
		switch {
		case errors.Is(err, jsonrpc.ErrTooLong):
			err = b.write(jsonrpc.Unreadable(err)) // as the portal would
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			err = b.send(bytes.TrimRight(line, "\r\n"))
		}
		if err != nil {
			return err
		}
	}
}

// sendClose sends the close frame after the last line.
func (b *bridge) sendClose() error {
	text := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	return b.conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(closePatience))
}

// send sends a line. It refuses invalid UTF-8, which would make the portal close the connection.
func (b *bridge) send(line []byte) error {
	switch {
	case len(line) == 0:
		return nil
	case !utf8.Valid(line):
		return b.write(jsonrpc.Unreadable(errors.New("the message is not valid UTF-8")))
	}
	return b.conn.WriteMessage(websocket.TextMessage, line)
}

// receive writes frames as lines until the connection ends.
func (b *bridge) receive() error {
	for {
		_, frame, err := b.conn.ReadMessage()
		if err != nil {
			return err
		}
		if err := b.write(toLine(frame)); err != nil {
			return err
		}
	}
}

func (b *bridge) write(line []byte) error {
	if err := b.lines.Write([][]byte{line}); err != nil {
		return outputError{err}
	}
	return nil
}

// toLine puts a frame on one line: in JSON, line breaks between tokens are whitespace.
func toLine(frame []byte) []byte {
	if bytes.IndexByte(frame, '\n') < 0 && bytes.IndexByte(frame, '\r') < 0 { // true of all frames of the portal
		return frame
	}
	for i, c := range frame {
		if c == '\n' || c == '\r' {
			frame[i] = ' '
		}
	}
	return frame
}
