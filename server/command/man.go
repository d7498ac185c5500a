package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// man returns the command `portal man`.
func man(p Process) *cobra.Command {
	return &cobra.Command{
		Use: "man DIRECTORY", Short: "Write the manual pages, for packages of this program",
		Long: `man writes portal.1 and a page for each command into a directory. SOURCE_DATE_EPOCH,
in seconds, sets the date in the pages; without it, it is today's.`,
		Example: "  portal man /usr/local/share/man/man1",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // manual pages are for everyone
				return err
			}
			eachCommand(cmd.Root(), func(c *cobra.Command) { c.DisableAutoGenTag = true }) // its date would differ between builds
			if err := doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "portal " + p.Version, Manual: "Copilot Portal"}, args[0]); err != nil {
				return fmt.Errorf("cannot write the manual pages: %w", err)
			}
			return nil
		},
	}
}
