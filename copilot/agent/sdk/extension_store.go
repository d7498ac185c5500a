package sdk

import (
	"context"
	"slices"
	"strings"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
)

// The CLI stores MCP servers in mcp-config.json, and what is disabled in settings.json. Only it reads and writes these files; its
// processes notice each other's changes.

// Servers lists the servers of the CLI's own configuration.
func (a *Agent) Servers(ctx context.Context) (list []agent.ServerConfig, err error) {
	found, err := fetch(ctx, a, callTimeout, a.client.RPC.MCP.Config().List)
	if err != nil {
		return nil, a.refused(err)
	}
	for name, config := range found.Servers {
		list = append(list, serverConfig(name, config))
	}
	slices.SortFunc(list, func(x, y agent.ServerConfig) int { return strings.Compare(x.Name, y.Name) })
	return list, nil
}

// serverConfig translates a configuration without the values that may be secrets.
func serverConfig(name string, config rpc.MCPSerializableServerConfig) agent.ServerConfig {
	c := agent.ServerConfig{Name: name}
	switch config := config.(type) {
	case *rpc.MCPServerConfigStdio:
		c.Command, c.Args, c.Env = config.Command, config.Args, withoutValues(config.Env)
	case *rpc.MCPServerConfigHTTP:
		c.URL, c.Headers = config.URL, withoutValues(config.Headers)
	}
	return c
}

func withoutValues(m map[string]string) map[string]string {
	names := make(map[string]string, len(m))
	for name := range m {
		names[name] = ""
	}
	return names
}

// AddServer adds a server with all its tools.
func (a *Agent) AddServer(ctx context.Context, c agent.ServerConfig) error {
	var config rpc.MCPSerializableServerConfig = &rpc.MCPServerConfigHTTP{URL: c.URL, Headers: c.Headers, Tools: []string{"*"}}
	if c.Command != "" {
		config = &rpc.MCPServerConfigStdio{Command: c.Command, Args: append([]string{}, c.Args...), Env: c.Env, Tools: []string{"*"}}
	}
	return a.configure(ctx, fault.Invalid, func(ctx context.Context) error {
		_, err := a.client.RPC.MCP.Config().Add(ctx, &rpc.MCPConfigAddRequest{Name: c.Name, Config: config})
		return err
	})
}

// RemoveServer removes a server, also from those that are disabled: the CLI would disable a new server of this name.
func (a *Agent) RemoveServer(ctx context.Context, name string) error {
	err := a.configure(ctx, fault.Invalid, func(ctx context.Context) error {
		_, err := a.client.RPC.MCP.Config().Remove(ctx, &rpc.MCPConfigRemoveRequest{Name: name})
		return err
	})
	if err != nil {
		return err
	}
	return a.EnableServer(ctx, name, true)
}

// EnableServer changes the list of disabled servers.
func (a *Agent) EnableServer(ctx context.Context, name string, enabled bool) error {
	return a.configure(ctx, fault.Internal, func(ctx context.Context) (err error) {
		if enabled {
			_, err = a.client.RPC.MCP.Config().Enable(ctx, &rpc.MCPConfigEnableRequest{Names: []string{name}})
		} else {
			_, err = a.client.RPC.MCP.Config().Disable(ctx, &rpc.MCPConfigDisableRequest{Names: []string{name}})
		}
		return err
	})
}

// EnableSkill changes the list of disabled skills.
func (a *Agent) EnableSkill(ctx context.Context, name string, enabled bool) error {
	return a.configure(ctx, fault.Internal, func(ctx context.Context) error {
		_, err := a.client.RPC.Skills.Config().SetSkillDisabled(ctx, &rpc.SkillsConfigSetSkillDisabledRequest{Name: name, Disabled: !enabled})
		return err
	})
}

// configure makes a call that changes the CLI's configuration. kind is that of a refusal.
func (a *Agent) configure(ctx context.Context, kind fault.Kind, do func(context.Context) error) error {
	err := a.call(ctx, callTimeout, do)
	if err == nil || a.process.HasEnded() || ctx.Err() != nil {
		return err
	}
	if _, own, ok := strings.Cut(err.Error(), " failed with message: "); ok {
		return fault.Errorf(kind, "the Copilot CLI refused: %s", own)
	}
	return a.refused(err)
}
