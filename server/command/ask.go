package command

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/copilot-portal/portal/copilot"
	dialect "github.com/copilot-portal/portal/handlers/ask"
	"github.com/copilot-portal/portal/server"
)

// ask is `portal ask`.
func ask(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "ask [prompt]",
		Short: "Carry out one prompt in this terminal",
		Long: `ask carries out one prompt and prints the answer as it comes. The prompt is the
arguments, or standard input where there are none. What the agent does and what
it asks goes to standard error; questions are answered on standard input.`,
		Example: "  portal ask 'What does this project do?'\n  git diff | portal ask --model gpt-5",
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := p.load(cmd)
			if err != nil {
				return err
			}
			o, err := askOptions(cmd, args, p)
			if err != nil {
				return err
			}
			return server.Ask(cmd.Context(), config, p.logger(config, slog.LevelError), o)
		},
	}
	c.Flags().String("model", "", "model (default: the configured one, or the first of portal models)")
	c.Flags().String("cwd", "", "working directory (default: this one)")
	c.Flags().String("permissions", "", "what the agent may do: allow, ask or deny (default: as configured, else ask)")
	c.Flags().Bool("json", false, "print events as lines of JSON")
	dialect.AddFlags(c.Flags())
	return c
}

// askOptions reads the command line of ask.
func askOptions(cmd *cobra.Command, args []string, p Process) (o dialect.Options, err error) {
	flags := cmd.Flags()
	o.Out, o.Notes = p.Out, p.Err
	if err := o.ReadFlags(flags); err != nil {
		return o, fmt.Errorf("%w%w", errUsage, err)
	}
	o.JSON, _ = flags.GetBool("json") // defined above, as the others
	o.Start.Model, _ = flags.GetString("model")
	if o.Start.Directory, _ = flags.GetString("cwd"); o.Start.Directory == "" {
		o.Start.Directory = "."
	}
	if o.Start.Directory, err = filepath.Abs(o.Start.Directory); err != nil {
		return o, err
	}
	if text, _ := flags.GetString("permissions"); text != "" {
		d, err := copilot.ParseDecision(text)
		if err != nil {
			return o, fmt.Errorf("%w--permissions: %w", errUsage, err)
		}
		o.Start.Policy = copilot.Everywhere(d)
	}
	person := term.IsTerminal(int(p.In.Fd()))
	o.Prompt, o.Start.AskUser, o.Colour = strings.Join(args, " "), person, term.IsTerminal(int(p.Terminal.Fd()))
	switch {
	case len(args) > 0:
		o.Keys = p.In
	case person:
		return o, fmt.Errorf("%wwhat shall be asked? Give it as an argument", errUsage)
	default:
		text, err := io.ReadAll(p.In)
		o.Prompt = string(text)
		return o, err
	}
	return o, nil
}
