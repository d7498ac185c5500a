package command

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/server"
)

// models returns the command `portal models`.
func models(p Process) *cobra.Command {
	return &cobra.Command{
		Use: "models", Short: "List the available models with their billing multipliers", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := p.load(cmd)
			if err != nil {
				return err
			}
			models, health, err := server.Models(cmd.Context(), config, p.logger(config, slog.LevelError))
			if err != nil {
				return err
			}
			if health.Message != "" {
				p.Err.Printf("%s %s\n", health.Message, health.Hint)
			}
			return writeTable(p.Out, models, func(m agent.Model) []any { return []any{m.ID, fmt.Sprintf("×%g", m.Multiplier), m.Name} })
		},
	}
}
