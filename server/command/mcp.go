package command

import (
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	serving "github.com/copilot-portal/portal/handlers/mcp"
	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/bridge"
)

// mcp returns the command `portal mcp`.
func mcp(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an MCP client on standard input and output",
		Long: `mcp is what an MCP client (an agent, an editor) starts as an MCP server. With its
tools the client starts sessions with GitHub Copilot's coding agent, waits for
their answers, answers their questions, and runs jobs and operations. It is a
separate portal that opens no port and ends when its input ends. Its sessions are
stored; other portals see them and can use them later.

With --attach it connects to a running portal, where the sessions run and are visible
in the browser. That portal serves the same protocol over HTTP, at /mcp.`,
		Example: `  portal mcp
  portal mcp --attach http://localhost:8888
  {"mcpServers": {"portal": {"command": "portal", "args": ["mcp"]}}}`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveMCP(cmd, p) },
	}
	return addBookFlag(addAttachFlags(c))
}

// serveMCP serves the client from this process, or connects it to another portal.
func serveMCP(cmd *cobra.Command, p Process) error {
	ctx := cmd.Context()
	return serveProgram(cmd, p, "MCP with programs", func(config server.Config, in io.ReadCloser) error {
		return server.MCP(ctx, config, p.Version, p.logger(config, slog.LevelWarn), in, p.Out)
	}, func(config server.Config, o bridge.Options) error {
		o.Path = "mcp"
		to, err := bridge.NewEndpoint(o)
		if err != nil {
			return err
		}
		remote := serving.Remote{URL: to.URL, Token: to.Token, Depth: config.Depth, Transport: to.Transport, Explain: to.Explain}
		return serving.Attach(ctx, remote, o.In, unclosed{o.Out})
	})
}

// unclosed is a writer that its owner closes.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
