package command

import (
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/server"
)

// models is `portal models`.
func models(p Process) *cobra.Command {
	return &cobra.Command{
		Use: "models", Short: "List the models that can be used, with their billing multipliers", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := p.load(cmd)
			if err != nil {
				return err
			}
			models, health, err := server.Models(cmd.Context(), config, p.logger(config, slog.LevelError))
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
			for _, m := range models {
				_, _ = fmt.Fprintf(table, "%s\t×%g\t%s\n", m.ID, m.Multiplier, m.Name) // Flush tells
			}
			if health.Message != "" {
				p.Err.Printf("%s %s\n", health.Message, health.Hint)
			}
			return table.Flush()
		},
	}
}
