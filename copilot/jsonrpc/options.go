package jsonrpc

import (
	"cmp"
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
	o.Concurrent = cmp.Or(o.Concurrent, 32)
	o.Batch = cmp.Or(o.Batch, 100)
	o.Waiting = cmp.Or(o.Waiting, 100)
	o.Queue = cmp.Or(o.Queue, 1<<20)
	o.Unread = cmp.Or(o.Unread, 16<<20)
	o.Grace = cmp.Or(o.Grace, time.Second)
	o.Body = cmp.Or(o.Body, 64<<20)
	o.Busy = cmp.Or(o.Busy, &Error{Code: CodeBusy, Message: "Server busy", Data: "too many requests wait already"})
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}
