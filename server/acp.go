package server

import (
	"context"
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
	return k.serveStreams(ctx, "editor", in, out, func(ctx context.Context, in watchedInput, out io.WriteCloser, _ func()) error {
		client := acp.Client{Grace: interrupt, WriteTimeout: writeTimeout, OnlyClient: true}
		return k.newACP(nil).Serve(ctx, jsonrpc.NewLines(in, out, jsonrpc.LineOptions{Max: acp.MaxMessage}), client)
	})
}
