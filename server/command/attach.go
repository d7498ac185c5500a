package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/bridge"
)

// The flags that select another portal.
const (
	attachFlag = "attach"
	tokenFlag  = "token"
)

// addAttachFlags adds the flags that select a running portal.
func addAttachFlags(c *cobra.Command) *cobra.Command {
	c.Flags().String(attachFlag, "", "address of a running portal, as it prints at its start")
	c.Flags().String(tokenFlag, "", "token of that portal (default: the one in its address, else the configured one)")
	_ = c.RegisterFlagCompletionFunc(attachFlag, cobra.NoFileCompletions) // fails only for an undefined flag
	return c
}

// serveProgram serves a program on standard input and output, by this process or, with --attach, by a running portal. speaks is what the
// command speaks with whom.
func serveProgram(
	cmd *cobra.Command, p Process, speaks string, here func(server.Config, io.ReadCloser) error, attached func(server.Config, bridge.Options) error,
) error {
	if err := checkAttach(cmd.Flags()); err != nil {
		return err
	}
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	address, _ := cmd.Flags().GetString(attachFlag) // defined by addAttachFlags
	if address == "" {
		if err := config.CheckDataDir(); err != nil {
			return err
		}
	}
	if term.IsTerminal(int(p.In.Fd())) {
		p.Err.Printf("This command speaks %s, one message per line. To ask something yourself, use portal ask.\n", speaks)
	}
	in := untilEnd(cmd.Context(), p.In)
	if address == "" {
		return here(config, in)
	}
	o := bridge.Options{Address: address, DefaultToken: config.Token, In: in, Out: p.Out}
	if cmd.Flags().Changed(tokenFlag) {
		o.Token = config.Token
	}
	return attached(config, o)
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
// from a pipe or a terminal cannot be interrupted, so a goroutine does it, for which nobody can wait.
func untilEnd(ctx context.Context, in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.Close() })
	go func() {
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err) // nil means EOF
	}()
	return r
}
