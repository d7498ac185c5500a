package command

import (
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/copilot-portal/portal/server"
)

// cliName is the program name that selects the command cli, for apps that can configure an executable but no
// arguments.
const cliName = "copilot-cli"

// argsForName returns the arguments, preceded by "cli" if the program was started as cliName.
func argsForName(name string, args []string) []string {
	name = filepath.Base(name)
	if strings.TrimSuffix(name, ".exe") != cliName {
		return args
	}
	return append([]string{"cli"}, args...)
}

// cli returns the command `portal cli`.
func cli(p Process) *cobra.Command {
	return &cobra.Command{
		Use:   "cli",
		Short: "Act as the Copilot CLI of an app that generates interfaces from API descriptions",
		Long: `cli is what an Electron app starts as its Copilot CLI. It speaks the Copilot CLI
Protocol (initialize, generate, customize, chat): JSON-RPC with one message per
line, on standard input and output. It is a separate portal that opens no port. It
ends when its input ends, on SIGTERM, and when the app calls exit.

A link to this program named copilot-cli does the same, for apps that can only be
given the path of a program. Unknown arguments are ignored.`,
		Example:            "  portal cli --demo\n  ln -s portal copilot-cli && ./copilot-cli --stdio",
		Args:               cobra.ArbitraryArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := p.load(cmd)
			if err != nil {
				return err
			}
			if err := config.CheckDataDir(); err != nil {
				return err
			}
			if term.IsTerminal(int(p.In.Fd())) {
				p.Err.Printf("This command speaks JSON-RPC with apps, one message per line. To ask something yourself, use portal ask.\n")
			}
			ctx := cmd.Context()
			return server.CLI(ctx, config, p.Version, p.logger(config, slog.LevelWarn), untilEnd(ctx, p.In), p.Out)
		},
	}
}
