// Command portal gives GitHub Copilot's coding agent to every client at once.
// README.md says how to use it, spec/ what it speaks.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/handlers/ask"
	"github.com/copilot-portal/portal/server"
)

// version is stamped in by the Makefile.
var version = "dev"

func main() { os.Exit(run()) }

// errUsage marks errors of the command line, which end with code 2.
var errUsage = errors.New("")

func run() int {
	// Standard output belongs to the protocols; the SDK prints to it when it
	// meets a fault. Nothing may block on a standard error that nobody reads.
	stdout, stderr := os.Stdout, server.NewLog(os.Stderr)
	defer stderr.Close(200 * time.Millisecond)
	divertPrints(stderr)

	ctx, cancel := signal.NotifyContext(context.Background(), endings()...)
	defer cancel()
	context.AfterFunc(ctx, cancel) // a second Ctrl-C ends at once

	err := command(stdout, stderr).ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		stderr.Printf("portal: %v\nSee portal --help.\n", err)
		return 2
	case errors.Is(err, context.Canceled):
		return 130 // as a shell says it of Ctrl-C
	}
	stderr.Printf("portal: %v\n", err)
	return 1
}

// endings are the signals that end the portal gently.
func endings() []os.Signal {
	// A parent that closes our output must not kill us with the next line that we
	// write there. Not ignored, for the agent and its commands would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		list = append(list, syscall.SIGHUP) // the terminal was closed
	}
	return list
}

// divertPrints sends what libraries print to the log.
func divertPrints(to io.Writer) {
	log.SetOutput(to)
	r, w, err := os.Pipe()
	if err != nil {
		os.Stdout = os.Stderr
		return
	}
	os.Stdout = w
	go io.Copy(to, r) //nolint:errcheck // for as long as the process lives
}

func command(stdout io.Writer, stderr *server.Log) *cobra.Command {
	root := &cobra.Command{
		Use:   "portal [port]",
		Short: "GitHub Copilot's coding agent for every client at once",
		Long: `portal serves GitHub Copilot's coding agent on a local port: a page for the
browser and a REST API for scripts, over one shared Copilot CLI.

Settings come from flags, over PORTAL_* variables, over the configuration file
(default: portal/config.yaml in the user's configuration directory), over the
defaults. The Copilot CLI is looked for as configured, at COPILOT_CLI_PATH,
beside this program and on PATH.`,
		Example:       "  portal            # http://localhost:8888/\n  portal 9000\n  portal --demo     # list the scripted model, too",
		Args:          usage(port),
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, stdout, stderr) },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w%w", errUsage, err) })
	flags, all := root.Flags(), root.PersistentFlags()
	flags.Int("port", 8888, "port to listen on; 0 takes any free one")
	flags.String("host", "localhost", "address to listen on; away from loopback a token is needed")
	flags.String("token", "", "token that clients must show (default: none on loopback, else made up and printed)")
	all.String("config", "", "configuration file")
	all.String("data-dir", "", "directory for the portal's own data (default: copilot-portal in the user's data directory)")
	all.String("copilot-path", "", "the Copilot CLI's executable")
	all.Bool("demo", false, "always list the scripted, offline model")
	all.Bool("debug", false, "log more")
	root.AddCommand(askCommand(stdout, stderr), modelsCommand(stdout, stderr), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "portal", version)
			return err
		},
	}
}

func modelsCommand(stdout io.Writer, stderr *server.Log) *cobra.Command {
	return &cobra.Command{
		Use: "models", Short: "List the models that can be used, with their billing multipliers", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := server.Load(server.Sources{Flags: cmd.Flags(), Lookup: os.LookupEnv})
			if err != nil {
				return err
			}
			models, health, err := server.Models(cmd.Context(), config, stderr.Logger(logLevel(config, slog.LevelError)))
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
			for _, m := range models {
				_, _ = fmt.Fprintf(table, "%s\t×%g\t%s\n", m.ID, m.Multiplier, m.Name) // Flush tells
			}
			if health.Message != "" {
				stderr.Printf("%s %s\n", health.Message, health.Hint)
			}
			return table.Flush()
		},
	}
}

func askCommand(stdout io.Writer, stderr *server.Log) *cobra.Command {
	c := &cobra.Command{
		Use:   "ask [prompt]",
		Short: "Carry out one prompt in this terminal",
		Long: `ask carries out one prompt and prints the answer as it comes. The prompt is the
arguments, or standard input where there are none. What the agent does and what
it asks goes to standard error; questions are answered on standard input.`,
		Example: "  portal ask 'What does this project do?'\n  git diff | portal ask --model gpt-5",
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := server.Load(server.Sources{Flags: cmd.Flags(), Lookup: os.LookupEnv})
			if err != nil {
				return err
			}
			o, err := askOptions(cmd, args)
			if err != nil {
				return err
			}
			o.Out, o.Notes = stdout, stderr
			return server.Ask(cmd.Context(), config, stderr.Logger(logLevel(config, slog.LevelError)), o)
		},
	}
	c.Flags().String("model", "", "model (default: the configured one, or the first of portal models)")
	c.Flags().String("cwd", "", "working directory (default: this one)")
	c.Flags().String("permissions", "", "what the agent may do: allow, ask or deny (default: as configured, else ask)")
	c.Flags().Bool("json", false, "print events as lines of JSON")
	ask.AddFlags(c.Flags())
	return c
}

// logLevel is the usual one of a command, unless everything is wanted. Commands
// that end with an answer tell only what somebody in a terminal needs to know.
func logLevel(c server.Config, usual slog.Level) slog.Level {
	if c.Debug {
		return slog.LevelDebug
	}
	return usual
}

// askOptions reads the command line of ask; its outputs are not set.
func askOptions(cmd *cobra.Command, args []string) (o ask.Options, err error) {
	flags := cmd.Flags()
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
	person := term.IsTerminal(int(os.Stdin.Fd()))
	o.Prompt, o.Start.AskUser, o.Colour = strings.Join(args, " "), person, term.IsTerminal(int(os.Stderr.Fd()))
	switch {
	case len(args) > 0:
		o.Keys = os.Stdin
	case person:
		return o, fmt.Errorf("%wwhat shall be asked? Give it as an argument", errUsage)
	default:
		text, err := io.ReadAll(os.Stdin)
		o.Prompt = string(text)
		return o, err
	}
	return o, nil
}

// usage makes what is wrong with the arguments an error of the command line.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w%w", errUsage, err)
		}
		return nil
	}
}

// port takes the port from the one argument or the flag.
func port(cmd *cobra.Command, args []string) error {
	flag := cmd.Flags().Lookup("port")
	switch {
	case len(args) > 1:
		return fmt.Errorf("one port at most, not %q", args)
	case len(args) == 1 && flag.Changed:
		return errors.New("give the port once: as an argument or with --port")
	case len(args) == 0 && !flag.Changed:
		return nil
	case len(args) == 0:
		args = []string{flag.Value.String()}
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is no port: use a number from 0 to 65535", args[0])
	}
	return cmd.Flags().Set("port", strconv.Itoa(n)) // without zeros, which would make it octal
}

// serve is `portal [port]`.
func serve(cmd *cobra.Command, stdout io.Writer, stderr *server.Log) error {
	config, err := server.Load(server.Sources{Flags: cmd.Flags(), Lookup: os.LookupEnv})
	if err != nil {
		return err
	}
	s := server.New(config, version, stderr.Logger(logLevel(config, slog.LevelInfo)))
	if err := s.Listen(cmd.Context()); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "SIDECAR_PORT=%d\n", s.Port()); err != nil {
		return fmt.Errorf("telling the port: %w", err)
	}
	stderr.Printf("The portal is open: %s\n", s.URL())
	if config.Permissions.Rest == "allow" {
		stderr.Printf("Sessions of plain REST scripts may do everything that permissions.rules does not restrict; permissions.rest changes that.\n")
	}
	return s.Serve(cmd.Context())
}
