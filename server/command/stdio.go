package command

import (
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/bridge"
)

// approvalFlag is the flag with which terminal UIs say what the agent may do without asking.
const approvalFlag = "approval-mode"

// stdio returns the command `portal stdio`.
func stdio(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "stdio",
		Short: "Serve a terminal or desktop UI on standard input and output",
		Long: `stdio is what a terminal or desktop UI starts as its agent. It speaks JSON-RPC with
one message per line, on standard input and output, and writes everything else to
standard error. It is a separate portal that opens no port and ends when its input
ends. Its sessions are stored; other portals see them and can use them later.

With --attach it connects to a running portal. Sessions run there, continue after
the UI ends, and are visible in the browser at the same time. The settings are those
of that portal.`,
		Example: "  portal stdio\n  portal stdio --attach http://localhost:8888",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return serveUI(cmd, p) },
		// UIs pass flags that this command does not know; [foreign] handles them.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	c.Flags().String(approvalFlag, "", "approval mode of a terminal UI: full-access allows everything that no rule asks for or denies; minimal and trusted ask as configured")
	return addBookFlag(addAttachFlags(c))
}

// serveUI serves the UI from this process, or connects it to another portal.
func serveUI(cmd *cobra.Command, p Process) error {
	ignored, err := foreign(cmd, p.Args)
	if err != nil {
		return err
	}
	for _, flag := range ignored {
		p.Err.Printf("portal: ignoring %s: portal stdio has no such flag\n", flag)
	}
	ctx := cmd.Context()
	return serveProgram(cmd, p, "JSON-RPC with programs", func(config server.Config, in io.ReadCloser) error {
		mode, _ := cmd.Flags().GetString(approvalFlag) // defined above
		rules, known := approved(mode)
		if !known {
			p.Err.Printf("portal: ignoring --%s %q: use minimal, trusted or full-access\n", approvalFlag, mode)
		}
		return server.Stdio(ctx, config, p.Version, p.logger(config, slog.LevelWarn), in, p.Out, rules)
	}, func(_ server.Config, o bridge.Options) (err error) {
		o.Path = "ui"
		if o.Directory, err = os.Getwd(); err != nil {
			return err
		}
		return bridge.Run(ctx, o)
	})
}
