package socket

import (
	"cmp"
	"log/slog"
	"time"
)

// Options says how a [Server] behaves. Zero values are the defaults.
type Options struct {
	MaxMessage int64 // the longest message that is taken, in bytes; 16 MiB. A longer one closes with 1009
	Binary     bool  // takes binary messages like those of text; otherwise they close with 1003

	PingEvery    time.Duration // 20 s
	Silence      time.Duration // how long a client may send nothing, not even a pong, before it is given up; 50 s
	WriteTimeout time.Duration // how long writing a frame may take; 10 s. Long frames get a second more for each 64 KiB
	Linger       time.Duration // how long a close may take after the close frame; 2 s

	Deaf         bool     // what clients say is thrown away; when one has said all, nothing more can be sent to it
	Subprotocols []string // of which the first that a client offers is agreed on; one that offers none of them gets none
	Compress     bool     // [Conn.SendAll] deflates frames over 1 KB for clients that offer it

	SendBuffer int // how many bytes the system keeps for a client that does not take them yet, about; as many as it likes

	// Refusal is the body of an answer, JSON, to a request that does not become a connection; {"error": text}.
	Refusal func(status int, text string) []byte
	// AnyOrigin takes requests that pages of other origins send: whoever calls [Server.Serve] has looked at that.
	AnyOrigin bool

	Log *slog.Logger // gets panics; nothing
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

// writeTimeout is how long writing so many bytes may take.
func (o Options) writeTimeout(size int) time.Duration {
	return o.WriteTimeout + time.Duration(size>>16)*time.Second
}
