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

// The flags of stdio that are about another portal.
const (
	attachFlag = "attach"
	tokenFlag  = "token"
)

// approvalFlag is of terminal UIs: what the agent may do unasked.
const approvalFlag = "approval-mode"

// stdio is `portal stdio`.
func stdio(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "stdio",
		Short: "Serve a terminal or desktop UI on standard input and output",
		Long: `stdio is what a terminal or desktop UI starts as its agent: it speaks JSON-RPC
with it, one message a line, on standard input and output, and writes all else
to standard error. It is a portal of its own, which opens no port and ends with
its input. Its sessions are stored; other portals see them, and use them later.

With --attach it uses a portal that runs already: sessions live there, go on
when the UI ends, and are seen in the browser at the same time. Settings are
those of that portal.`,
		Example: "  portal stdio\n  portal stdio --attach http://localhost:8888",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return serveUI(cmd, p) },
		// A UI gives its runtime flags that this one does not know; [foreign] looks at them.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	c.Flags().String(approvalFlag, "", "as terminal UIs give it: full-access allows what no rule asks for or denies, minimal and trusted ask as configured")
	c.Flags().String(attachFlag, "", "address of a running portal, as it was printed at its start")
	c.Flags().String(tokenFlag, "", "token of that portal (default: the one in its address, else the configured one)")
	addBookFlag(c)
	_ = c.RegisterFlagCompletionFunc(attachFlag, cobra.NoFileCompletions) // the flag is there
	return c
}

// serveUI serves the UI, here or elsewhere.
func serveUI(cmd *cobra.Command, p Process) error {
	ignored, err := foreign(cmd, p.Args)
	if err != nil {
		return err
	}
	for _, flag := range ignored {
		p.Err.Printf("portal: %s is ignored: portal stdio has no such flag\n", flag)
	}
	if err := checkAttach(cmd.Flags()); err != nil {
		return err
	}
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	if term.IsTerminal(int(p.In.Fd())) {
		p.Err.Printf("This speaks JSON-RPC with programs, one message a line. To ask something yourself: portal ask\n")
	}
	ctx, in := cmd.Context(), untilEnd(cmd.Context(), p.In)
	address, _ := cmd.Flags().GetString(attachFlag) // defined above
	if address == "" {
		mode, _ := cmd.Flags().GetString(approvalFlag) // defined above
		rules, known := approved(mode)
		if !known {
			p.Err.Printf("portal: --%s %q is ignored: minimal, trusted and full-access are known\n", approvalFlag, mode)
		}
		return server.Stdio(ctx, config, p.Version, p.logger(config, slog.LevelWarn), in, p.Out, rules)
	}
	return attach(ctx, config, cmd, bridge.Options{Address: address, In: in, Out: p.Out})
}

// attach serves the UI with a portal that runs already.
func attach(ctx context.Context, config server.Config, cmd *cobra.Command, o bridge.Options) error {
	o.Token, o.DefaultToken = "", config.Token
	if cmd.Flags().Changed(tokenFlag) {
		o.Token = config.Token
	}
	var err error
	if o.Directory, err = os.Getwd(); err != nil {
		return err
	}
	return bridge.Run(ctx, o)
}

// checkAttach refuses flags that would have no effect.
func checkAttach(flags *pflag.FlagSet) error {
	attached := flags.Changed(attachFlag)
	var faults []error
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case attachFlag:
			if f.Value.String() == "" {
				faults = append(faults, fmt.Errorf("--%s: which portal? Give its address, as in http://localhost:8888", f.Name))
			}
		case tokenFlag:
			if !attached {
				faults = append(faults, fmt.Errorf("--%s goes with --%s: without it there is no port to guard", f.Name, attachFlag))
			}
		case "config", "debug": // the file may have the token
		case approvalFlag: // a UI gives it whatever it is told to start; the sessions have the rules of that portal
		default:
			if attached {
				faults = append(faults, fmt.Errorf("--%s has no effect with --%s: it is a setting of that portal", f.Name, attachFlag))
			}
		}
	})
	if len(faults) > 0 {
		return fmt.Errorf("%w%w", errUsage, errors.Join(faults...))
	}
	return nil
}

// untilEnd is an input that also ends when ctx does or when it is closed: reading
// from a pipe or terminal cannot be interrupted, so that is left to a goroutine.
func untilEnd(ctx context.Context, in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.Close() })
	go func() {
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err) // nil is the end
	}()
	return r
}
