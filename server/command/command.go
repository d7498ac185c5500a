// Package command implements the command line of the portal: commands, flags, completions and exit codes.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot/agent/sandbox"
	"github.com/copilot-portal/portal/server"
)

// Process contains the parts of the process that commands use.
type Process struct {
	Name    string   // of the executable; "" selects the usual command line
	Version string   // of the portal
	Environ []string // "KEY=VALUE"
	Args    []string // without the program name
	In      *os.File
	Out     io.Writer   // results only
	Err     *server.Log // everything else
	// Terminal is the file behind Err. If it is a terminal, output is colored.
	Terminal *os.File
}

// The exit codes of the portal.
const (
	done      = 0
	failed    = 1
	misused   = 2   // invalid command line
	cancelled = 130 // the exit code of a shell after Ctrl-C
)

// errUsage marks errors of the command line.
var errUsage = errors.New("")

// errSilent marks a failure that the output already shows.
var errSilent = errors.New("")

// Run executes a command line, without the program name, and returns the exit code. It prints errors to
// p.Err.
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

Flags override PORTAL_* variables, which override the configuration file (default:
portal/config.yaml in the user's configuration directory), which overrides the
defaults. portal config prints the result. The portal uses the Copilot CLI that is
configured, else the one at COPILOT_CLI_PATH, else one beside this program, else
the one that portal setup installed, else one on PATH. If something does not work, portal doctor explains it.`,
		Example:       "  portal            # http://localhost:8888/\n  portal 9000\n  portal --demo     # also list the scripted model",
		SilenceErrors: true, SilenceUsage: true,
		SuggestionsMinimumDistance: 2, Version: p.Version,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, p) },
	}
	flags := c.Flags()
	flags.Int(parentFlag, 0, "stop when the process with this id ends")
	flags.Bool(eofFlag, false, "stop when standard input ends")
	c.SetVersionTemplate("portal {{.Version}}\n")
	c.SetOut(p.Out)
	c.SetErr(p.Err)
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w%w", errUsage, err) })
	addGlobalFlags(c)
	addServeFlags(c)
	c.AddCommand(ask(p), stdio(p), cli(p), mcp(p), acp(p), models(p), sessions(p), jobsCommand(p), clusterCommand(p), addServeFlags(doctor(p)), setup(p), addServeFlags(config(p)), man(p), version(p))
	c.InitDefaultCompletionCmd()
	usageErrors(c)
	complete(c, p)
	return c
}

// addGlobalFlags adds the flags of all commands.
func addGlobalFlags(c *cobra.Command) {
	all := c.PersistentFlags()
	all.String("config", "", "configuration file")
	all.String("data-dir", "", "directory for the portal's own data (default: copilot-portal in the user's data directory)")
	all.Bool("ephemeral", false, "store nothing: sessions are lost when the portal stops")
	all.String("copilot-path", "", "path of the Copilot CLI")
	all.String("agent-command", "", "program, with arguments, to use instead of the Copilot CLI; it must speak the Copilot CLI Protocol")
	all.String("agents", "", "known agents to use besides, separated by commas; sessions with their models run on them")
	all.Bool("sandbox", false, "run the Copilot CLI in bubblewrap, where it can write to the working directory only; without bubblewrap, sessions fail to start")
	all.String("sandbox-network", "shared", "what the sandboxed CLI and its commands can reach: shared (everything this machine can) or model (only the hosts of models)")
	all.Bool("demo", false, "always list the scripted, offline model")
	all.Bool("debug", false, "log debug messages")
}

// addServeFlags adds the flags of `portal` itself, also to commands that report what it would do.
func addServeFlags(c *cobra.Command) *cobra.Command {
	c.Args = port
	flags := c.Flags()
	flags.Int("port", 8888, "port to listen on; 0 means any free port")
	flags.String("host", "localhost", "address to listen on; any address other than loopback requires a token")
	flags.Bool("terminal", false, "let the page open a terminal in the directory of a session: a shell for everyone who can use the page")
	flags.Bool("lan", false, "listen on the local network, with a token, and print the address with a QR code; without tls in the configuration, others on the network can read along")
	flags.String("base-path", "", "path prefix of all routes behind a reverse proxy, for example /portal")
	flags.String("callback", "", "address of the IDE that executes its tools, for example http://localhost:63342")
	flags.String("token", "", "token that clients must present (default: none on loopback; generated and printed beyond it, and with allowed_hosts, allowed_origins or sandbox)")
	return addBookFlag(c)
}

// usageErrors marks errors in the arguments of every command with errUsage.
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

// nameSubcommand runs a command that only groups others: it asks for one of them.
func nameSubcommand(c *cobra.Command, _ []string) error {
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("%wname a subcommand: %s", errUsage, strings.Join(names, ", "))
}

// load reads the configuration. It prints a warning if it ignores COPILOT_CLI_PATH.
func (p Process) load(cmd *cobra.Command) (server.Config, error) {
	c, err := server.Load(server.Sources{Flags: cmd.Flags(), Environ: p.Environ})
	if skipped := c.SkippedCLI(); skipped != "" && err == nil {
		p.Err.Printf("%s\n", skipped)
	}
	return c, err
}

// logger returns the log of a command at its usual level, or at debug level if configured. Commands that
// print a result log only what a person at a terminal needs.
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
