package server

import (
	"context"
	"log/slog"
	"os"

	"mvdan.cc/sh/v3/shell"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/ndjson"
	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
)

// driver starts processes of the agent: of the Copilot CLI, or of the program that is configured in its place.
type driver interface {
	Launch(ctx context.Context) (agent.Agent, error)
	Health() agent.Health
	Memory() map[int]int64 // by process id, in bytes
}

// newDriver makes the configured one. version is that of the portal, "" if nobody asks. d is closed after all that was started.
func newDriver(c Config, d *demoModel, version string, log *slog.Logger) driver {
	if command := c.agentCommand(); command != nil {
		return ndjson.New(ndjson.Options{Command: command, Env: os.Environ(), Version: version, Log: log})
	}
	return sdk.New(driverOptions(c, d, log))
}

// newServingDriver is that of a portal that serves: it comes after the one that was killed, whose processes it ends.
func newServingDriver(c Config, d *demoModel, version string, log *slog.Logger) driver {
	if c.AgentCommand == "" {
		o := driverOptions(c, d, log)
		o.EndOrphans = true
		return sdk.New(o)
	}
	for _, ended := range process.EndOrphans(os.Environ()) {
		log.Warn("ended what a portal that was killed had left running", "process", ended)
	}
	return newDriver(c, d, version, log)
}

// agentCommand is the program in place of the Copilot CLI, with its arguments; nil if none is configured. It is written as in
// a shell, with quotes, and without variables.
func (c *Config) agentCommand() []string {
	words, err := shell.Fields(c.AgentCommand, func(string) string { return "" })
	if err != nil || len(words) == 0 {
		return nil // check has said so
	}
	return words
}

func (c *Config) checkAgent(fault func(format string, args ...any)) {
	if c.AgentCommand != "" && c.agentCommand() == nil {
		fault("agent_command: %q names no program", c.AgentCommand)
	}
}

// pool are the limits of the agent's processes. Another program than the CLI may want to be greeted more than once.
func (c *Config) pool() agent.PoolOptions {
	o := c.Pool.options()
	if c.AgentCommand != "" {
		o.StartTimeout = max(o.StartTimeout, ndjson.StartTimeout)
	}
	return o
}
