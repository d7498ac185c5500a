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
		Long: `models starts all configured agents, lists their models, and stops the agents. It says which agents cannot be used.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := p.load(cmd)
			if err != nil {
				return err
			}
			models, faults, err := server.Models(cmd.Context(), config, p.logger(config, slog.LevelError+1)) // the faults say what errors would
			for _, fault := range faults {
				p.Err.Printf("portal: %s\n", fault)
			}
			if err != nil {
				return err
			}
			return writeTable(p.Out, models, func(m agent.Model) []any { return []any{m.ID, fmt.Sprintf("×%g", m.Multiplier), m.Name} })
		},
	}
}
