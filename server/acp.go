package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/share"
	"github.com/copilot-portal/portal/handlers/acp"
	"github.com/copilot-portal/portal/handlers/socket"
)

// newACP creates the dialect of editors; sockets may be nil. The holder of a link may call none of its methods.
func (k *portalCore) newACP(sockets *socket.Server) *acp.API {
	return acp.New(acp.Options{Host: k.host, Version: k.version, Sockets: sockets, Admit: admitLinked(map[string]share.Rights{}), Log: k.log})
}

// ACP runs a portal for a single editor on in and out. It opens no port. It returns nil when in ends or ctx is done, after it has
// cancelled the editor's runs, answered pending requests, closed the sessions and stopped the agents. It always closes in.
func ACP(ctx context.Context, c Config, version string, log *slog.Logger, in io.ReadCloser, out io.Writer) error {
	k := newCore(ctx, c, version, log)
	client := acp.Client{Grace: interrupt, WriteTimeout: writeTimeout, Alone: true}
	err := k.serveStreams(ctx, func(ctx context.Context, _ func()) streamSession {
		return startSession(ctx, in, out, jsonrpc.LineOptions{Max: acp.MaxMessage}, func(ctx context.Context, carrier jsonrpc.Carrier) error {
			return k.newACP(nil).Serve(ctx, carrier, client)
		})
	})
	if err != nil {
		return fmt.Errorf("the connection to the editor failed: %w", err)
	}
	return nil
}
