package socket

import (
	"context"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// Frames returns a carrier of JSON-RPC on the connection, for the function of [Server.Serve]:
//
//	sockets.Serve(w, r, func(ctx context.Context, conn *socket.Conn) {
//		err := jsonrpc.New(conn.Frames(ctx), methods, jsonrpc.Options{}).Run(ctx)
//		…
//	})
//
// Hangup only ends sending and receiving. The connection closes when the function returns or calls [Conn.Close], so the error
// of Run may become a code; if it is that of the context, [context.Cause] has the reason.
func (c *Conn) Frames(ctx context.Context) jsonrpc.Frames {
	return jsonrpc.Frames{
		Receive: func() ([]byte, error) { return c.Receive(ctx) },
		Send:    c.Send,
		Hangup:  func() error { c.stop(ErrClosed); return nil },
	}
}
