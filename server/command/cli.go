package command

import (
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/copilot-portal/portal/server"
)

// cliName is that under which apps start the program which cannot name a command.
const cliName = "copilot-cli"

// argsForName is a command line as it is meant when the program was started under a name.
func argsForName(name string, args []string) []string {
	name = filepath.Base(name)
	if strings.TrimSuffix(name, ".exe") != cliName {
		return args
	}
	return append([]string{"cli"}, args...)
}

// cli is `portal cli`.
func cli(p Process) *cobra.Command {
	return &cobra.Command{
		Use:   "cli",
		Short: "Be the CLI of an app that makes interfaces of API descriptions",
		Long: `cli is what an Electron app starts as its Copilot CLI: it speaks the Copilot CLI
Protocol with it (initialize, generate, customize, chat), JSON-RPC, one message a
line, on standard input and output. It is a portal of its own, which opens no port
and ends with its input, with SIGTERM and when the app says exit.

A link to this program that is named copilot-cli is the same, for apps that can
name a program only. Arguments that it does not know are ignored.`,
		Example:            "  portal cli --demo\n  ln -s portal copilot-cli && ./copilot-cli --stdio",
		Args:               cobra.ArbitraryArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := p.load(cmd)
			if err != nil {
				return err
			}
			if term.IsTerminal(int(p.In.Fd())) {
				p.Err.Printf("This speaks JSON-RPC with apps, one message a line. To ask something yourself: portal ask\n")
			}
			ctx := cmd.Context()
			return server.CLI(ctx, config, p.Version, p.logger(config, slog.LevelWarn), untilEnd(ctx, p.In), p.Out)
		},
	}
}
