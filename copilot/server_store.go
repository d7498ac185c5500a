package copilot

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// ServerSetup is an MCP server of sessions of the first agent in a directory: where it comes from, and its configuration if it is the user's own. Credentials
// in texts are masked, and the values of variables and headers are empty.
type ServerSetup struct {
	event.Server

	Config *agent.ServerConfig // nil: not of the user's configuration, so that it cannot be removed
}

// Servers lists the MCP servers of sessions in a directory. It starts an agent process if none runs. Errors as of [Host.Extensions].
func (h *Host) Servers(ctx context.Context, directory string) ([]ServerSetup, error) {
	var list []ServerSetup
	err := h.withExtensions(ctx, directory, func(a agent.Agent, x agent.Extensions) error {
		stored, err := a.Servers(ctx)
		for _, s := range x.Servers {
			setup := ServerSetup{Server: s}
			if i := slices.IndexFunc(stored, func(c agent.ServerConfig) bool { return c.Name == s.Name }); i >= 0 && (s.Source == "user" || s.Source == "") {
				config := stored[i].Masked()
				setup.Config = &config
			}
			list = append(list, setup)
		}
		return err
	})
	return list, err
}

// withExtensions calls an agent process, which it starts if none runs, with what sessions in a directory have.
func (h *Host) withExtensions(ctx context.Context, directory string, do func(agent.Agent, agent.Extensions) error) error {
	lease, err := h.leaseIn(ctx, directory)
	if err != nil {
		return err
	}
	defer lease.Release()
	x, err := lease.Agent.Extensions(ctx, directory)
	if err != nil {
		return err
	}
	return do(lease.Agent, x)
}

// leaseIn leases an agent for a directory, which it checks.
func (h *Host) leaseIn(ctx context.Context, directory string) (agent.Lease, error) {
	if err := CheckDirectory(directory); err != nil {
		return agent.Lease{}, err
	}
	return h.first().AcquireIn(ctx, directory)
}

// AddServer stores an MCP server in the user's configuration of the agent. Sessions that open their conversation later start it, with the
// rights of the portal. Errors: kind [fault.Invalid] for an invalid configuration, and for a name that is taken.
func (h *Host) AddServer(ctx context.Context, c agent.ServerConfig) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.SSE {
		return fault.Errorf(fault.Invalid, "a server with the transport SSE cannot be stored")
	}
	return h.withAgent(ctx, func(a agent.Agent) error { return a.AddServer(ctx, c) })
}

// RemoveServer removes an MCP server from the user's configuration. Errors: kind [fault.Invalid] if there is none.
func (h *Host) RemoveServer(ctx context.Context, name string) error {
	return h.withAgent(ctx, func(a agent.Agent) error { return a.RemoveServer(ctx, name) })
}

// EnableServer makes sessions that open their conversation later start an MCP server, or ignore it. Errors: kind [fault.Invalid] if
// sessions in the directory have no such server.
func (h *Host) EnableServer(ctx context.Context, directory, name string, enabled bool) error {
	return h.withExtensions(ctx, directory, func(a agent.Agent, x agent.Extensions) error {
		if !slices.ContainsFunc(x.Servers, func(s event.Server) bool { return s.Name == name }) {
			return fault.Errorf(fault.Invalid, "there is no MCP server %q", name)
		}
		return a.EnableServer(ctx, name, enabled)
	})
}

// EnableSkill makes the agent offer a skill in sessions that open their conversation later, or ignore it. Errors: kind [fault.Invalid] if
// sessions in the directory have no such skill.
func (h *Host) EnableSkill(ctx context.Context, directory, name string, enabled bool) error {
	return h.withExtensions(ctx, directory, func(a agent.Agent, x agent.Extensions) error {
		if !slices.ContainsFunc(x.Skills, func(s agent.Skill) bool { return s.Name == name }) {
			return fault.Errorf(fault.Invalid, "there is no skill %q", name)
		}
		return a.EnableSkill(ctx, name, enabled)
	})
}

// withAgent calls an agent process, which it starts if none runs.
func (h *Host) withAgent(ctx context.Context, do func(agent.Agent) error) error {
	lease, err := h.first().Acquire(ctx)
	if err != nil {
		return err
	}
	defer lease.Release()
	return do(lease.Agent)
}
