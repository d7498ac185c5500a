package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/bridge"
)

// The flags of stdio that select another portal.
const (
	attachFlag = "attach"
	tokenFlag  = "token"
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

// addAttachFlags adds the flags that select a running portal.
func addAttachFlags(c *cobra.Command) *cobra.Command {
	c.Flags().String(attachFlag, "", "address of a running portal, as it prints at its start")
	c.Flags().String(tokenFlag, "", "token of that portal (default: the one in its address, else the configured one)")
	_ = c.RegisterFlagCompletionFunc(attachFlag, cobra.NoFileCompletions) // fails only for an undefined flag
	return c
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
	if err := checkAttach(cmd.Flags()); err != nil {
		return err
	}
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	if term.IsTerminal(int(p.In.Fd())) {
		p.Err.Printf("This command speaks JSON-RPC with programs, one message per line. To ask something yourself, use portal ask.\n")
	}
	ctx, in := cmd.Context(), untilEnd(cmd.Context(), p.In)
	address, _ := cmd.Flags().GetString(attachFlag) // defined above
	if address == "" {
		mode, _ := cmd.Flags().GetString(approvalFlag) // defined above
		rules, known := approved(mode)
		if !known {
			p.Err.Printf("portal: ignoring --%s %q: use minimal, trusted or full-access\n", approvalFlag, mode)
		}
		return server.Stdio(ctx, config, p.Version, p.logger(config, slog.LevelWarn), in, p.Out, rules)
	}
	directory, err := os.Getwd()
	if err != nil {
		return err
	}
	return attach(ctx, config, cmd, bridge.Options{Address: address, Path: "ui", Directory: directory, In: in, Out: p.Out})
}

// attach connects the client to a running portal.
func attach(ctx context.Context, config server.Config, cmd *cobra.Command, o bridge.Options) error {
	o.Token, o.DefaultToken = "", config.Token
	if cmd.Flags().Changed(tokenFlag) {
		o.Token = config.Token
	}
	return bridge.Run(ctx, o)
}

// checkAttach returns an error for flags that would have no effect.
func checkAttach(flags *pflag.FlagSet) error {
	attached := flags.Changed(attachFlag)
	var faults []error
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case attachFlag:
			if f.Value.String() == "" {
				faults = append(faults, fmt.Errorf("--%s: give the address of a portal, for example http://localhost:8888", f.Name))
			}
		case tokenFlag:
			if !attached {
				faults = append(faults, fmt.Errorf("--%s requires --%s: without it, this command opens no port", f.Name, attachFlag))
			}
		case "config", "debug": // the file may contain the token
		case approvalFlag: // UIs pass it to every agent they start; the rules of the other portal apply
		default:
			if attached {
				faults = append(faults, fmt.Errorf("--%s has no effect with --%s: configure the other portal instead", f.Name, attachFlag))
			}
		}
	})
	if len(faults) > 0 {
		return fmt.Errorf("%w%w", errUsage, errors.Join(faults...))
	}
	return nil
}

// untilEnd returns a reader of in that ends when in ends, when ctx is done, or when it is closed. Reading
// from a pipe or a terminal cannot be interrupted, so a goroutine does it.
func untilEnd(ctx context.Context, in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.Close() })
	go func() {
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err) // nil means EOF
	}()
	return r
}
