package fake

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// extensions returns [Agents.Extensions] with the added servers, which have a state unless they are disabled.
func (a *Agents) extensions(state event.ServerState) agent.Extensions {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := agent.Extensions{Servers: slices.Clone(a.Extensions.Servers), Skills: slices.Clone(a.Extensions.Skills), Agents: a.Extensions.Agents}
	for _, name := range slices.Sorted(maps.Keys(a.servers)) {
		transport := "stdio"
		if a.servers[name].Command == "" {
			transport = "http"
		}
		x.Servers = append(x.Servers, event.Server{Name: name, State: state, Source: "user", Transport: transport})
	}
	for i, s := range x.Servers {
		if a.disabled["server "+s.Name] {
			x.Servers[i].State = event.ServerDisabled
		}
	}
	for i, s := range x.Skills {
		if a.disabled["skill "+s.Name] {
			x.Skills[i].Enabled = false
		}
	}
	return x
}

// Servers returns those that were added.
func (p *process) Servers(ctx context.Context) ([]agent.ServerConfig, error) {
	if err := p.call(ctx, Call{Method: Servers}); err != nil {
		return nil, err
	}
	p.agents.mu.Lock()
	defer p.agents.mu.Unlock()
	list := slices.SortedFunc(maps.Values(p.agents.servers), func(a, b agent.ServerConfig) int { return strings.Compare(a.Name, b.Name) })
	for i := range list {
		list[i].Env, list[i].Headers = withoutValues(list[i].Env), withoutValues(list[i].Headers)
	}
	return list, nil
}

func withoutValues(m map[string]string) map[string]string {
	names := map[string]string{}
	for name := range m {
		names[name] = ""
	}
	return names
}

// AddServer adds a server.
func (p *process) AddServer(ctx context.Context, c agent.ServerConfig) error {
	if err := p.call(ctx, Call{Method: AddServer, Server: c.Name}); err != nil {
		return err
	}
	p.agents.mu.Lock()
	defer p.agents.mu.Unlock()
	if _, taken := p.agents.servers[c.Name]; taken {
		return fault.Errorf(fault.Invalid, "there is a server %q", c.Name)
	}
	p.agents.servers[c.Name] = c
	return nil
}

// RemoveServer removes a server.
func (p *process) RemoveServer(ctx context.Context, name string) error {
	if err := p.call(ctx, Call{Method: RemoveServer, Server: name}); err != nil {
		return err
	}
	p.agents.mu.Lock()
	defer p.agents.mu.Unlock()
	if _, ok := p.agents.servers[name]; !ok {
		return fault.Errorf(fault.Invalid, "there is no server %q", name)
	}
	delete(p.agents.servers, name)
	delete(p.agents.disabled, "server "+name)
	return nil
}

// EnableServer enables or disables a server.
func (p *process) EnableServer(ctx context.Context, name string, enabled bool) error {
	return p.enable(ctx, Call{Method: EnableServer, Server: name}, "server "+name, enabled)
}

// EnableSkill enables or disables a skill.
func (p *process) EnableSkill(ctx context.Context, name string, enabled bool) error {
	return p.enable(ctx, Call{Method: EnableSkill, Server: name}, "skill "+name, enabled)
}

func (p *process) enable(ctx context.Context, c Call, what string, enabled bool) error {
	if err := p.call(ctx, c); err != nil {
		return err
	}
	p.agents.mu.Lock()
	defer p.agents.mu.Unlock()
	p.agents.disabled[what] = !enabled
	return nil
}
