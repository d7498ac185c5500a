package command

import (
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/bridge"
)

// acp returns the command `portal acp`.
func acp(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "acp",
		Short: "Serve an editor on standard input and output",
		Long: `acp is what an editor that speaks the Agent Client Protocol (Zed, JetBrains IDEs,
Neovim, Emacs) starts as its agent. It is a separate portal that opens no port and
ends when its input ends. Its sessions are stored; other portals see them and can use
them later.

With --attach it connects to a running portal. Sessions run there, continue after the
editor ends, and are visible in the browser at the same time. The settings are those of
that portal, which serves the same protocol on a WebSocket, at /acp.`,
		Example: `  portal acp
  portal acp --attach http://localhost:8888
  {"agent_servers": {"Copilot Portal": {"command": "portal", "args": ["acp"]}}}`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveACP(cmd, p) },
	}
	return addAttachFlags(c)
}

// serveACP serves the editor from this process, or connects it to another portal.
func serveACP(cmd *cobra.Command, p Process) error {
	ctx := cmd.Context()
	return serveProgram(cmd, p, "the Agent Client Protocol with editors", func(config server.Config, in io.ReadCloser) error {
		return server.ACP(ctx, config, p.Version, p.logger(config, slog.LevelWarn), in, p.Out)
	}, func(_ server.Config, o bridge.Options) error {
		o.Path = "acp"
		return bridge.Run(ctx, o)
	})
}
