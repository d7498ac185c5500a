package command

import (
	"log/slog"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/copilot-portal/portal/server"
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

A running portal serves the same protocol over HTTP, at /mcp.`,
		Example: `  portal mcp
  {"mcpServers": {"portal": {"command": "portal", "args": ["mcp"]}}}`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveMCP(cmd, p) },
	}
	return addBookFlag(c)
}

func serveMCP(cmd *cobra.Command, p Process) error {
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	if term.IsTerminal(int(p.In.Fd())) {
		p.Err.Printf("This command speaks MCP with programs, one message per line. To ask something yourself, use portal ask.\n")
	}
	ctx := cmd.Context()
	return server.MCP(ctx, config, p.Version, p.logger(config, slog.LevelWarn), untilEnd(ctx, p.In), p.Out)
}
