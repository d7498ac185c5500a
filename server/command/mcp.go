package command

import (
	"cmp"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
	"golang.org/x/term"

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

func serveMCP(cmd *cobra.Command, p Process) error {
	if err := checkAttach(cmd.Flags()); err != nil {
		return err
	}
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	if term.IsTerminal(int(p.In.Fd())) {
		p.Err.Printf("This command speaks MCP with programs, one message per line. To ask something yourself, use portal ask.\n")
	}
	ctx := cmd.Context()
	if address, _ := cmd.Flags().GetString(attachFlag); address != "" {
		endpoint, token, err := bridge.Endpoint(address, "mcp")
		if err != nil {
			return err
		}
		remote := serving.Remote{URL: endpoint, Token: cmp.Or(token, config.Token), Depth: config.Depth}
		if cmd.Flags().Changed(tokenFlag) {
			remote.Token = config.Token
		}
		return serving.Attach(ctx, remote, untilEnd(ctx, p.In), unclosed{p.Out})
	}
	return server.MCP(ctx, config, p.Version, p.logger(config, slog.LevelWarn), untilEnd(ctx, p.In), p.Out)
}

// unclosed is a writer that its owner closes.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
