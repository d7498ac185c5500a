package jsonrpc

import (
	"context"
	"log/slog"
	"time"
)

// Options says how a [Peer] or an [HTTP] behaves. Zero values are the defaults.
type Options struct {
	Concurrent int // how many requests are handled at a time, over HTTP those of one batch; 32
	Batch      int // the most messages of a batch; 100

	// Fault turns an error of a handler that is no [Error] into one, or returns nil if it does not know it.
	Fault func(error) *Error
	Log   *slog.Logger // gets panics, unknown errors, and what could not be understood; nothing

	// For a Peer alone.
	Waiting      int           // how many more requests wait for their turn; 100, none if negative
	Busy         *Error        // what the next one is refused with; CodeBusy. A notification is dropped, and logged
	Queue        int           // how many bytes may be unsent before producers wait; 1 MiB
	Unread       int           // how many bytes may be unsent before the peer is not read any more; 16 MiB
	WriteTimeout time.Duration // how long one write may take before the peer is given up; for ever
	Grace        time.Duration // how long Run waits in the end for what does not heed the end; 1 s
	IDPrefix     string        // makes the ids of our calls strings such as "ui_1"; without one they are numbers
	// Last is called once when nothing more is to be read and everything that was read has been answered. Notifications are
	// still sent while it works; its context ends when they cannot be any more. It is not called when the connection is given up.
	Last func(ctx context.Context)
	// IgnoreGarbage logs what is no message and does not answer it: for those who only call, and whose peer may
	// print other things, too.
	IgnoreGarbage bool

	// For HTTP alone.
	Body int64 // the longest body of a request, in bytes; 64 MiB
}

func (o Options) withDefaults() Options {
	fill(&o.Concurrent, 32)
	fill(&o.Batch, 100)
	fill(&o.Waiting, 100)
	fill(&o.Queue, 1<<20)
	fill(&o.Unread, 16<<20)
	fill(&o.Grace, time.Second)
	fill(&o.Body, 64<<20)
	if o.Busy == nil {
		o.Busy = &Error{Code: CodeBusy, Message: "Server busy", Data: "too many requests wait already"}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// fill gives an option its default.
func fill[T comparable](option *T, value T) {
	var zero T
	if *option == zero {
		*option = value
	}
}
