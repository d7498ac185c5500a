package jsonrpc

import "errors"

// ErrTooLong is what [Carrier.Read] returns, wrapped, for a message that was longer than allowed. It has been skipped.
var ErrTooLong = errors.New("the message is too long")

// Carrier carries whole messages.
type Carrier interface {
	// Read returns the next message, which is valid until the next Read. After an [ErrTooLong] one may read on. [io.EOF] says
	// that the peer says no more, but may still listen; any other error that it is gone.
	Read() ([]byte, error)
	// Write sends messages one after another, and keeps none.
	Write(messages [][]byte) error
	// Close ends Read and Write where that is possible. It is called once, at any time.
	Close() error
}

// Frames is a [Carrier] made of the functions of a connection that carries one message a frame, such as a WebSocket.
type Frames struct {
	Receive func() ([]byte, error)
	Send    func(messages ...[]byte) error
	Hangup  func() error
}

// Read returns the next frame.
func (f Frames) Read() ([]byte, error) { return f.Receive() }

// Write sends each message in a frame of its own.
func (f Frames) Write(messages [][]byte) error { return f.Send(messages...) }

// Close hangs up.
func (f Frames) Close() error { return f.Hangup() }
