package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/copilot-portal/portal/handlers/mcp"
)

// newMCP creates the dialect of MCP clients.
func (k *portalCore) newMCP() *mcp.API {
	return mcp.New(mcp.Options{
		Host: k.host, Jobs: k.jobs, BookFault: k.book.clientError(), Operations: k.work, WorkDir: workDir(), Version: k.version,
		Depth: k.config.Depth, MaxDepth: k.config.Limits.Depth, Log: k.log,
	})
}

// depthOf reads the number of agents above this portal, which the portal above passes to its agents.
func depthOf(s Sources) (int, error) {
	text, ok := s.lookup(mcp.DepthVariable)
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s=%q: a portal sets it for its agents, to a number", mcp.DepthVariable, text)
	}
	return n, nil
}

// MCP runs a portal for a single MCP client on in and out. It opens no port. It returns nil when in ends or ctx is done, after it has
// answered pending calls, closed the sessions and stopped the agents. It always closes in.
func MCP(ctx context.Context, c Config, version string, log *slog.Logger, in io.ReadCloser, out io.Writer) error {
	if err := c.CheckBook(); err != nil {
		_ = in.Close() // the caller relies on it; closing a reader cannot lose data
		return err
	}
	k := newCore(ctx, c, version, log)
	return k.serveStreams(ctx, "MCP client", in, out, func(ctx context.Context, in watchedInput, out io.WriteCloser, end func()) error {
		return k.newMCP().Serve(ctx, in, out, end)
	})
}
