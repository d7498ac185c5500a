// Package command is the command line of the portal: its commands and flags, and
// the exit codes that they end with.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot/agent/sandbox"
	"github.com/copilot-portal/portal/server"
)

// Process is what a command has from the process that it runs in.
type Process struct {
	Name    string   // under which it was started; "" is the usual one
	Version string   // of the portal
	Environ []string // "KEY=VALUE"
	Args    []string // of the command line, without the name of the program
	In      *os.File
	Out     io.Writer   // for what was asked for, and nothing else
	Err     *server.Log // for all the rest
	// Terminal is the file behind Err; whether it is a terminal decides on colours.
	Terminal *os.File
}

// The exit codes of the portal.
const (
	done      = 0
	failed    = 1
	misused   = 2   // a fault of the command line
	cancelled = 130 // as a shell says it of Ctrl-C
)

// errUsage marks errors of the command line.
var errUsage = errors.New("")

// errSilent marks a failure that the output has told already.
var errSilent = errors.New("")

// Run carries out a command line, without the name of the program, and gives
// the exit code. Errors are told on p.Err.
func Run(ctx context.Context, args []string, p Process) int {
	if len(args) > 0 && args[0] == sandbox.Helper {
		p.Err.Printf("portal: %v\n", sandbox.Run(args[1:]))
		return failed
	}
	p.Args = argsForName(p.Name, args)
	c := root(p)
	c.SetArgs(p.Args)
	err := c.ExecuteContext(ctx)
	switch {
	case err == nil:
		return done
	case errors.Is(err, errUsage):
		p.Err.Printf("portal: %v\nSee portal --help.\n", err)
		return misused
	case errors.Is(err, context.Canceled):
		return cancelled
	case !errors.Is(err, errSilent):
		p.Err.Printf("portal: %v\n", err)
	}
	return failed
}

func root(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "portal [port]",
		Short: "GitHub Copilot's coding agent for every client at once",
		Long: `portal serves GitHub Copilot's coding agent on a local port: a page for the
browser and APIs for scripts, IDEs, terminal and desktop UIs, over one shared
Copilot CLI.

Settings come from flags, over PORTAL_* variables, over the configuration file
(default: portal/config.yaml in the user's configuration directory), over the
defaults; portal config prints what they amount to. The Copilot CLI is looked
for as configured, at COPILOT_CLI_PATH, beside this program and on PATH. When
something does not work, portal doctor says what and why.`,
		Example:       "  portal            # http://localhost:8888/\n  portal 9000\n  portal --demo     # list the scripted model, too",
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, p) },
	}
	flags := c.Flags()
	flags.Int(parentFlag, 0, "end when the process with this id has ended")
	flags.Bool(eofFlag, false, "end when the standard input ends")
	c.SetOut(p.Out)
	c.SetErr(p.Err)
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w%w", errUsage, err) })
	addGlobalFlags(c)
	addServeFlags(c)
	c.AddCommand(ask(p), stdio(p), cli(p), models(p), sessions(p), jobsCommand(p), addServeFlags(doctor(p)), addServeFlags(config(p)), version(p))
	c.InitDefaultCompletionCmd()
	usageErrors(c)
	complete(c, p)
	return c
}

// addGlobalFlags adds the flags that all commands take.
func addGlobalFlags(c *cobra.Command) {
	all := c.PersistentFlags()
	all.String("config", "", "configuration file")
	all.String("data-dir", "", "directory for the portal's own data (default: copilot-portal in the user's data directory)")
	all.Bool("ephemeral", false, "keep nothing: sessions are gone when the portal ends")
	all.String("copilot-path", "", "the Copilot CLI's executable")
	all.String("agent-command", "", "another program in place of the Copilot CLI, with its arguments, that speaks the Copilot CLI Protocol")
	all.Bool("sandbox", false, "run the Copilot CLI under bubblewrap, where it writes to the working directory alone; or start no session")
	all.String("sandbox-network", "shared", "what the sandboxed CLI and its commands reach: shared (all that this machine does) or model (the hosts of models alone)")
	all.Bool("demo", false, "always list the scripted, offline model")
	all.Bool("debug", false, "log more")
}

// addServeFlags adds what `portal` takes besides, for itself and for the commands that
// tell what it would do.
func addServeFlags(c *cobra.Command) *cobra.Command {
	c.Args = port
	flags := c.Flags()
	flags.Int("port", 8888, "port to listen on; 0 takes any free one")
	flags.String("host", "localhost", "address to listen on; away from loopback a token is needed")
	flags.String("base-path", "", "path below which all is served, as in /portal, behind a reverse proxy")
	flags.String("callback", "", "address of the IDE that carries out its tools, as in http://localhost:63342")
	flags.String("token", "", "token that clients must show (default: none on loopback, else made up and printed)")
	return addBookFlag(c)
}

// usageErrors makes what is wrong with the arguments of any command an error of the
// command line.
func usageErrors(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fmt.Errorf("%w%w", errUsage, err)
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		usageErrors(sub)
	}
}

// load reads the configuration, and tells what of the environment is not followed.
func (p Process) load(cmd *cobra.Command) (server.Config, error) {
	c, err := server.Load(server.Sources{Flags: cmd.Flags(), Environ: p.Environ})
	if skipped := c.SkippedCLI(); skipped != "" && err == nil {
		p.Err.Printf("%s\n", skipped)
	}
	return c, err
}

// logger is the log of a command at its usual level, unless everything is
// wanted. Commands that end with an answer tell only what somebody in a terminal
// needs to know.
func (p Process) logger(c server.Config, usual slog.Level) *slog.Logger {
	if c.Debug {
		usual = slog.LevelDebug
	}
	return p.Err.Logger(usual)
}

func version(p Process) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "portal", p.Version)
			return err
		},
	}
}
