package server

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/shell"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/ndjson"
	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
)

// driver starts agent processes: the Copilot CLI, or the program configured instead of it.
type driver interface {
	Launch(ctx context.Context) (agent.Agent, error)
	Health() agent.Health
	Memory() map[int]int64 // in bytes, by process id
	Capabilities() []agent.Capability
}

// newDriver returns the driver of the first agent. version is the portal's version, or "" if the agent does not need
// it. The caller must close d after everything that it starts.
func newDriver(c Config, d *demoModel, version string, log *slog.Logger) driver {
	if command := c.agentCommand(); command != nil {
		return ndjson.New(ndjson.Options{Command: command, Env: agentEnvironment(os.Environ()), Version: version, Log: log})
	}
	return sdk.New(driverOptions(c, d, log))
}

// newServingDrivers returns the drivers of a portal that serves. The processes that a killed portal left behind end now, or when the
// Copilot CLI starts if that is the only agent.
func newServingDrivers(c Config, d *demoModel, version string, log *slog.Logger) drivers {
	if c.AgentCommand == "" && len(c.Agents) == 0 {
		o := driverOptions(c, d, log)
		o.EndOrphans = true
		return newDrivers(c, sdk.New(o), version, log)
	}
	for _, ended := range process.EndOrphans(os.Environ()) {
		log.Warn("ended processes left by a killed portal", "process", ended)
	}
	return newDrivers(c, newDriver(c, d, version, log), version, log)
}

// agentEnvironment returns an environment without the portal's token. What the commands of an agent print is shown to everyone who reads the
// session, holders of links included. Other variables stay: a portal that the agent starts as its MCP server needs the same settings.
func agentEnvironment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "PORTAL_TOKEN"
	})
}

// agentCommand returns the program that replaces the Copilot CLI, with its arguments, or nil if none is
// configured. It is quoted as in a shell; variables are not expanded.
func (c *Config) agentCommand() []string {
	words, err := shell.Fields(c.AgentCommand, func(string) string { return "" })
	if err != nil || len(words) == 0 {
		return nil // check has reported the error
	}
	return words
}

func (c *Config) checkAgent(fault func(format string, args ...any)) {
	if c.AgentCommand != "" && c.agentCommand() == nil {
		fault("agent_command: %q does not name a program", c.AgentCommand)
	}
}

// pool returns the limits of agent processes. A program other than the CLI may need more than one attempt to
// start.
func (c *Config) pool() agent.PoolOptions {
	o := c.Pool.options()
	if c.AgentCommand != "" {
		o.StartTimeout = max(o.StartTimeout, ndjson.StartTimeout)
	}
	return o
}
