package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/handlers/ask"
)

// Models lists the models that sessions can use, and says which agents cannot be used fully. It starts all agents and stops them.
func Models(ctx context.Context, c Config, log *slog.Logger) (models []agent.Model, faults []string, err error) {
	err = runOnce(ctx, c, storage{}, log, func(h *copilot.Host) error {
		others := h.OtherAgents()
		failed := try(ctx, h, others)
		models, err = h.Models(ctx)
		if health := h.Health(); health.Message != "" {
			faults = append(faults, health.Message+" "+health.Hint)
		}
		for i, fault := range failed {
			if fault != nil {
				models = slices.DeleteFunc(models, func(m agent.Model) bool { return m.Agent == others[i].Name })
				faults = append(faults, fmt.Sprintf("agent %s: %v", others[i].Name, fault))
			}
		}
		return err
	})
	return models, faults, err
}

// try starts agents, which then know their models, and returns the error of each.
func try(ctx context.Context, h *copilot.Host, agents []copilot.AgentHealth) []error {
	errs := make([]error, len(agents))
	var tries sync.WaitGroup
	for i, a := range agents {
		tries.Go(func() { errs[i] = h.TryAgent(ctx, a.Name) })
	}
	tries.Wait()
	return errs
}

// Ask runs one prompt. It starts an agent process and stops it.
func Ask(ctx context.Context, c Config, log *slog.Logger, o ask.Options) error {
	if err := c.CheckDataDir(); err != nil {
		return err
	}
	kept := openStorage(ctx, c, log)
	defer kept.close(log)
	return runOnce(ctx, c, kept, log, func(h *copilot.Host) error { return ask.Run(ctx, h, o) })
}

// runOnce calls do with a new host and then closes it, together with the driver.
func runOnce(ctx context.Context, c Config, kept storage, log *slog.Logger, do func(*copilot.Host) error) error {
	var d demoModel
	defer d.close()
	agents := newDrivers(c, newDriver(c, &d, "", log), "", log)
	defer agents.remove()
	return withHost(ctx, newHost(c, agents, kept, log), do)
}

// withHost calls do with a host and then closes the host.
func withHost(ctx context.Context, h *copilot.Host, do func(*copilot.Host) error) error {
	defer within(ctx, stopGently, h.Close)
	return do(h)
}
