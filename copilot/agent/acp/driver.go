// Package acp drives any program that is an agent of the Agent Client Protocol on its standard streams. spec/agents.md
// describes what such agents can do in the portal.
package acp

import (
	"context"
	"log/slog"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Options configures an agent. Zero fields have the defaults named.
type Options struct {
	Name    string       // of the agent; required. The ids of its models begin with it and a slash
	Command []string     // program and arguments; required
	Env     []string     // "KEY=VALUE"; default: that of the portal
	Saved   string       // directory that keeps which conversation belongs to which session; required
	Auth    string       // id of the method to sign in with before the first session; "": none
	Version string       // version of the portal, for the agent; default "dev"
	Log     *slog.Logger // nil disables logging
}

// Driver starts processes of an agent and keeps the result of the last start. Its methods may be called concurrently.
type Driver struct{ options Options }

// New returns a driver. It does not start the program yet.
func New(o Options) *Driver { return &Driver{options: o} }

// Launch starts the program and initializes it; it is an [agent.Launch].
func (d *Driver) Launch(context.Context) (agent.Agent, error) {
	return nil, fault.Errorf(fault.Unavailable, "in work")
}

// Health returns the result of the last start, or whether the program exists.
func (d *Driver) Health() agent.Health { return agent.Health{State: agent.HealthUnknown} }

// Memory returns the memory of the running programs in bytes, by process id; empty if unknown.
func (d *Driver) Memory() map[int]int64 { return nil }

// Models returns the models that the agent had when it was last asked, at least one. It does not start the program.
func (d *Driver) Models() []agent.Model {
	return []agent.Model{{ID: d.options.Name + "/default", Name: d.options.Name, Multiplier: 1}}
}

// Capabilities returns what sessions of the agent can do.
func (d *Driver) Capabilities() []agent.Capability { return nil }

// Preset is an agent that is known by its name.
type Preset struct {
	Name    string
	Command []string
	Env     []string // in addition to that of the portal
	Package string   // of npm that has the program, for people
}

// Presets returns the known agents, by name.
func Presets() []Preset { return nil }
