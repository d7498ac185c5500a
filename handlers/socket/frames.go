package socket

import (
	"bytes"
	"context"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// Frames makes the connection a carrier of JSON-RPC, for the function of [Server.Serve]:
//
//	sockets.Serve(w, r, func(ctx context.Context, conn *socket.Conn) {
//		err := jsonrpc.New(conn.Frames(ctx), methods, jsonrpc.Options{}).Run(ctx)
//		…
//	})
//
// To hang up ends sending and receiving only: what was sent goes out, and the connection closes, when the function returns or
// calls [Conn.Close]. The error of Run is then known and may become a code; if it is that of the
// context, [context.Cause] knows more.
func (c *Conn) Frames(ctx context.Context) jsonrpc.Frames {
	return jsonrpc.Frames{
		Receive: func() ([]byte, error) { return c.Receive(ctx) },
		Send:    func(message []byte) error { return c.Send(ctx, bytes.Clone(message)) }, // it must keep none
		Hangup:  func() error { c.stop(ErrClosed); return nil },
	}
}
