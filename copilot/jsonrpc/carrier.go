package jsonrpc

import "errors"

// ErrTooLong is returned by [Carrier.Read], wrapped, for a message that is longer than allowed. The message has been
// skipped.
var ErrTooLong = errors.New("the message is too long")

// Carrier carries whole messages.
type Carrier interface {
	// Read returns the next message, which is valid until the next Read. After [ErrTooLong] the next Read continues.
	// [io.EOF] means that the peer sends nothing more but may still receive; any other error means that it is gone.
	Read() ([]byte, error)
	// Write sends messages in order. It does not keep them.
	Write(messages [][]byte) error
	// Close ends Read and Write where that is possible. It is called once, at any time.
	Close() error
}

// Frames is a [Carrier] made of the functions of a connection that carries one message per frame, such as a WebSocket.
type Frames struct {
	Receive func() ([]byte, error)
	Send    func(messages ...[]byte) error
	Hangup  func() error
}

// Read returns the next frame.
func (f Frames) Read() ([]byte, error) { return f.Receive() }

// Write sends each message in its own frame.
func (f Frames) Write(messages [][]byte) error { return f.Send(messages...) }

// Close closes the connection.
func (f Frames) Close() error { return f.Hangup() }
