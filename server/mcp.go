package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"

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
	api := k.newMCP()
	err := k.serveStreams(ctx, func(ctx context.Context, _ func()) streamSession { return startMCP(ctx, api, in, out) })
	if err != nil {
		return fmt.Errorf("the connection to the MCP client failed: %w", err)
	}
	return nil
}

// startMCP starts the dialect in a goroutine.
func startMCP(ctx context.Context, api *mcp.API, in io.ReadCloser, out io.Writer) streamSession {
	ctx, cancel := context.WithCancel(ctx)
	t := streamSession{inputEnded: make(chan struct{}), ended: make(chan error, 1), out: &output{Writer: out}, cut: cancel}
	watched := watchedInput{ReadCloser: in, ended: sync.OnceFunc(func() { close(t.inputEnded) })}
	go func() { t.ended <- api.Serve(ctx, watched, t.out) }()
	return t
}

// watchedInput reports its end.
type watchedInput struct {
	io.ReadCloser

	ended func()
}

// Read reads from the input.
func (w watchedInput) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil {
		w.ended()
	}
	return n, err
}
