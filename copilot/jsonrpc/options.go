package jsonrpc

import (
	"cmp"
	"context"
	"log/slog"
	"time"
)

// Options configures a [Peer] or an [HTTP]. Zero values select the defaults.
type Options struct {
	Concurrent int // maximum number of concurrent requests, over HTTP within one batch; 32
	Batch      int // maximum number of messages of a batch; 100

	// Admit returns why the caller may not call a method, as a handler would; nil: it may. Without it, every method may be called.
	Admit func(ctx context.Context, method string) error
	// Fault converts an error of a handler that is not an [Error], or returns nil if it does not know the error.
	Fault func(error) *Error
	// Explain puts the text of an error's data into its message, too, for clients that show only messages.
	Explain bool
	Log     *slog.Logger // for panics, unknown errors and invalid messages; none

	// Fields of a Peer only.
	Waiting      int           // maximum number of requests that wait for their turn; 100, none if negative
	Busy         *Error        // error of further requests; an internal one that says so. Notifications are dropped and logged
	Queue        int           // unsent bytes above which producers wait; 1 MiB
	Unread       int           // unsent bytes above which the peer is not read; 16 MiB
	WriteTimeout time.Duration // maximum time of one write, after which the connection ends; none
	Grace        time.Duration // how long Run waits at the end for goroutines that do not stop; 1 s
	IDPrefix     string        // makes the ids of calls strings such as "ui_1"; without it they are numbers
	// Last is called once when nothing more will be read and every message that was read has been answered.
	// Notifications are still sent while it runs. Its context ends when they no longer can be. Last is not called if
	// the connection is closed early.
	Last func(ctx context.Context)
	// IgnoreGarbage logs invalid messages and does not answer them. It is for peers that only call, and whose other end
	// may print other things, too.
	IgnoreGarbage bool

	// Fields of an HTTP only.
	Body int64 // maximum size of a request body, in bytes; 64 MiB
}

func (o Options) withDefaults() Options {
	o.Concurrent = cmp.Or(o.Concurrent, 32)
	o.Batch = cmp.Or(o.Batch, 100)
	o.Waiting = cmp.Or(o.Waiting, 100)
	o.Queue = cmp.Or(o.Queue, 1<<20)
	o.Unread = cmp.Or(o.Unread, 16<<20)
	o.Grace = cmp.Or(o.Grace, time.Second)
	o.Body = cmp.Or(o.Body, 64<<20)
	o.Busy = cmp.Or(o.Busy, Errorf(CodeInternal, "Internal error", "too many requests are waiting; send fewer at a time"))
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}
