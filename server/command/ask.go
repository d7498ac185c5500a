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

// ask returns the command `portal ask`.
func ask(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "ask [prompt]",
		Short: "Run one prompt in this terminal",
		Long: `ask runs one prompt and prints the answer as it arrives. The prompt consists of
the arguments and of piped input. Standard error shows what the agent does and
asks. You answer its questions on the keyboard. Without a terminal, questions are
refused, or with --answers answered with the lines of standard input.`,
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
	c.Flags().String("model", "", "model (default: the configured one, else the first that portal models lists)")
	c.Flags().String("cwd", "", "working directory (default: the current one)")
	c.Flags().String("permissions", "", "what the agent may do: allow, ask or deny (default: as configured, else ask)")
	c.Flags().Bool("answers", false, "read answers to questions from standard input, even if it is not a terminal")
	c.Flags().Bool("json", false, "print one JSON event per line")
	dialect.AddFlags(c.Flags())
	return c
}

// askOptions converts the arguments and flags of ask.
func askOptions(cmd *cobra.Command, args []string, p Process) (o dialect.Options, err error) {
	flags := cmd.Flags()
	o.Out, o.Notes = p.Out, p.Err
	if err := o.ReadFlags(flags); err != nil {
		return o, fmt.Errorf("%w%w", errUsage, err)
	}
	o.JSON, _ = flags.GetBool("json") // the flags are defined above
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

// askPrompt decides how standard input is used: as a keyboard, as a list of answers, or as part of the
// prompt. Input that is part of the prompt can never approve anything.
func askPrompt(o *dialect.Options, args []string, p Process, cmd *cobra.Command) error {
	person := term.IsTerminal(int(p.In.Fd()))
	answers, _ := cmd.Flags().GetBool("answers")
	o.Prompt, o.Start.AskUser, o.Color = strings.Join(args, " "), person, term.IsTerminal(int(p.Terminal.Fd()))
	switch {
	case len(args) == 0 && (person || answers):
		return fmt.Errorf("%wgive the prompt as an argument", errUsage)
	case person || answers:
		o.Keys, o.Person = p.In, person
		return nil
	case len(args) > 0 && !isPiped(p.In):
		return nil
	}
	note := time.AfterFunc(2*time.Second, func() { p.Err.Printf("reading standard input until it ends; use </dev/null if there is no input\n") })
	defer note.Stop()
	text, err := io.ReadAll(p.In)
	if len(text) > 0 {
		o.Prompt = strings.TrimPrefix(o.Prompt+"\n\n"+string(text), "\n\n")
	}
	return err
}

// isPiped reports whether standard input is a pipe or a file, as opposed to one inherited from the parent.
func isPiped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}
