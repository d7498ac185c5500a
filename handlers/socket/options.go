package socket

import (
	"cmp"
	"log/slog"
	"time"
)

// Options are the options of a [Server]. Zero values are the defaults.
type Options struct {
	MaxMessage int64 // the longest accepted message, in bytes; 16 MiB. A longer one closes with 1009

	PingEvery    time.Duration // 20 s
	Silence      time.Duration // how long a client may send nothing, not even a pong, before it is cut off; 50 s
	WriteTimeout time.Duration // how long a client may take nothing of what is being written; 10 s
	Linger       time.Duration // how long a close may take after the close frame; 2 s

	IgnoresInput bool     // drops messages of clients; after a client's close nothing more is sent to it
	Subprotocols []string // supported ones; the first that a client offers is selected
	Compress     bool     // for clients that offer it, deflates frames that are shared ([Server.Share]) and others over 1 KiB

	SendBuffer int // the size of the system's send buffer, about, in bytes; the system's default

	// Refusal returns the body, JSON, of the response to a request that is not upgraded; {"error": text}.
	Refusal func(status int, text string) []byte
	// AnyOrigin accepts requests of pages of other origins: the caller of [Server.Serve] has checked them.
	AnyOrigin bool

	Log *slog.Logger // for panics; none
}

func (o Options) withDefaults() Options {
	o.MaxMessage = cmp.Or(o.MaxMessage, 16<<20)
	o.PingEvery = cmp.Or(o.PingEvery, 20*time.Second)
	o.Silence = cmp.Or(o.Silence, 50*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.Linger = cmp.Or(o.Linger, 2*time.Second)
	if o.Refusal == nil {
		o.Refusal = refusal
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}
