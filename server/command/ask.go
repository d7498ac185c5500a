package command

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/copilot-portal/portal/copilot/permission"
	dialect "github.com/copilot-portal/portal/handlers/ask"
	"github.com/copilot-portal/portal/server"
)

// ask is `portal ask`.
func ask(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "ask [prompt]",
		Short: "Carry out one prompt in this terminal",
		Long: `ask carries out one prompt and prints the answer as it comes. The prompt is the
arguments and what is piped into it. What the agent does and what it asks goes to
standard error; questions are answered on the keyboard. Without one they are
refused, or with --answers answered by the lines of standard input.`,
		Example: "  portal ask 'What does this project do?'\n  git diff | portal ask 'Review this change'",
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
	c.Flags().Bool("answers", false, "take answers to questions from standard input, which is no terminal")
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
		d, err := permission.ParseDecision(text)
		if err != nil {
			return o, fmt.Errorf("%w--permissions: %w", errUsage, err)
		}
		o.Start.Policy = permission.Everywhere(d)
	}
	return o, askPrompt(&o, args, p, cmd)
}

// askPrompt decides what standard input is: a person, answers, or a text for the
// prompt. Text that is only meant to be read must not be able to approve anything.
func askPrompt(o *dialect.Options, args []string, p Process, cmd *cobra.Command) error {
	person := term.IsTerminal(int(p.In.Fd()))
	answers, _ := cmd.Flags().GetBool("answers")
	o.Prompt, o.Start.AskUser, o.Colour = strings.Join(args, " "), person, term.IsTerminal(int(p.Terminal.Fd()))
	switch {
	case len(args) == 0 && (person || answers):
		return fmt.Errorf("%wwhat shall be asked? Give it as an argument", errUsage)
	case person || answers:
		o.Keys = p.In
		return nil
	case len(args) > 0 && !isPiped(p.In):
		return nil
	}
	note := time.AfterFunc(2*time.Second, func() { p.Err.Printf("reading standard input up to its end; </dev/null if there is none\n") })
	defer note.Stop()
	text, err := io.ReadAll(p.In)
	if len(text) > 0 {
		o.Prompt = strings.TrimPrefix(o.Prompt+"\n\n"+string(text), "\n\n")
	}
	return err
}

// isPiped says whether somebody has given us something to read, and not just left
// us what he had himself.
func isPiped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}
