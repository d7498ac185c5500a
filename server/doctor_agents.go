package server

import (
	"context"
	"log/slog"
	"os/exec"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/acp"
)

// agentNames returns the names of the configured agents besides the first one, then those of the other known ones.
func (c *Config) agentNames() []string {
	var names []string
	for _, a := range c.Agents {
		names = append(names, a.Name)
	}
	for _, p := range acp.Presets() {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// isOfOther reports whether a model belongs to an agent besides the first one.
func (c *Config) isOfOther(model string) bool {
	return slices.ContainsFunc(c.Agents, func(a Agent) bool { return strings.HasPrefix(model, a.Name+"/") })
}

// withoutFirst returns the finding that the first agent cannot be used. It is no problem if another one is installed.
func (d drivers) withoutFirst(f Finding) Finding {
	if slices.ContainsFunc(d.others, func(a otherAgent) bool { return a.Health().State != agent.HealthMissing }) {
		f.Level = LevelWarning
	}
	return f
}

// examineOther starts a configured agent, or looks for the program of a known one.
func examineOther(ctx context.Context, c Config, name string, log *slog.Logger) Finding {
	if !slices.ContainsFunc(c.Agents, func(a Agent) bool { return a.Name == name }) {
		known, _ := acp.FindPreset(name)
		return examineKnown(known)
	}
	first := newDriver(c, nil, "", log)
	agents := newDrivers(c, first, "", log)
	defer agents.remove()
	err := withHost(ctx, newHost(c, agents, storage{}, log), func(h *copilot.Host) error { return h.TryAgent(ctx, name) })
	i := slices.IndexFunc(agents.others, func(a otherAgent) bool { return a.config.Name == name })
	if i < 0 {
		return warningFinding("", "%v", err)
	}
	a := agents.others[i]
	health := a.Health()
	switch {
	case err != nil && health.Message != "":
		return warningFinding(health.Hint, "%s", health.Message)
	case err != nil:
		return warningFinding("", "%v", err)
	case health.Version == "":
		return okFinding("%s starts", strings.Join(a.config.command(), " "))
	}
	return okFinding("version %s, %s", health.Version, strings.Join(a.config.command(), " "))
}

// examineKnown looks for the program of a known agent that is not configured.
func examineKnown(p acp.Preset) Finding {
	path, err := exec.LookPath(p.Command[0])
	if err != nil {
		f := okFinding("not installed and not configured")
		f.Hint = p.InstallHint()
		return f
	}
	f := okFinding("installed at %s, not configured", path)
	f.Hint = "To use it, add it to `agents`, or start with `--agents " + p.Name + "`."
	return f
}
