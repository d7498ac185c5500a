package sdk

import (
	"cmp"
	"context"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Extensions lists what the CLI would load for a session in a directory.
func (a *Agent) Extensions(ctx context.Context, directory string) (agent.Extensions, error) {
	x, err := fetch(ctx, a, callTimeout, func(ctx context.Context) (x agent.Extensions, err error) {
		servers, err := a.client.RPC.MCP.Discover(ctx, &rpc.MCPDiscoverRequest{WorkingDirectory: &directory})
		if err != nil {
			return x, err
		}
		skills, err := a.client.RPC.Skills.Discover(ctx, &rpc.SkillsDiscoverRequest{ProjectPaths: []string{directory}})
		if err != nil {
			return x, err
		}
		agents, err := a.client.RPC.Agents.Discover(ctx, &rpc.AgentsDiscoverRequest{ProjectPaths: []string{directory}})
		if err != nil {
			return x, err
		}
		x = discovered(servers.Servers, skills.Skills)
		x.Agents = customAgents(agents.Agents)
		return x, nil
	})
	if err != nil {
		return x, a.refused(err)
	}
	return x, nil
}

func discovered(servers []rpc.DiscoveredMCPServer, skills []rpc.ServerSkill) agent.Extensions {
	x := agent.Extensions{}
	for _, s := range servers {
		state := event.ServerConfigured
		if !s.Enabled {
			state = event.ServerDisabled
		}
		server := event.Server{Name: s.Name, State: state, Source: string(s.Source)}
		if s.Type != nil {
			server.Transport = string(*s.Type)
		}
		x.Servers = append(x.Servers, server)
	}
	for _, s := range skills {
		x.Skills = append(x.Skills, agent.Skill{
			Name: s.Name, Description: s.Description, Source: string(s.Source), Path: text(s.Path),
			Enabled: s.Enabled, Invocable: s.UserInvocable,
		})
	}
	return x
}

func customAgents(list []rpc.AgentInfo) (agents []agent.CustomAgent) {
	for _, a := range list {
		found := agent.CustomAgent{Name: cmp.Or(a.DisplayName, a.Name), Description: a.Description, Path: text(a.Path), Model: text(a.Model), Tools: a.Tools}
		if a.Source != nil {
			found.Source = string(*a.Source)
		}
		agents = append(agents, found)
	}
	return agents
}

// Extensions lists what the CLI has loaded for this session.
func (c *conversation) Extensions(ctx context.Context) (agent.Extensions, error) {
	return fetch(ctx, c.agent, callTimeout, func(ctx context.Context) (x agent.Extensions, err error) {
		servers, err := c.session.RPC.MCP.List(ctx)
		if err != nil {
			return x, err
		}
		skills, err := c.session.RPC.Skills.List(ctx)
		if err != nil {
			return x, err
		}
		return loaded(servers.Servers, skills.Skills), nil
	})
}

func loaded(servers []rpc.MCPServer, skills []rpc.Skill) agent.Extensions {
	x := agent.Extensions{}
	for _, s := range servers {
		server := event.Server{Name: s.Name, State: serverState(s.Status), Error: text(s.Error)}
		if s.Source != nil {
			server.Source = string(*s.Source)
		}
		x.Servers = append(x.Servers, server)
	}
	for _, s := range skills {
		x.Skills = append(x.Skills, agent.Skill{
			Name: s.Name, Description: s.Description, Source: string(s.Source), Path: text(s.Path),
			Enabled: s.Enabled, Invocable: s.UserInvocable,
		})
	}
	return x
}

func serverState(s rpc.MCPServerStatus) event.ServerState {
	switch s {
	case rpc.MCPServerStatusConnected:
		return event.ServerConnected
	case rpc.MCPServerStatusPending:
		return event.ServerPending
	case rpc.MCPServerStatusNeedsAuth:
		return event.ServerSignIn
	case rpc.MCPServerStatusFailed:
		return event.ServerFailed
	case rpc.MCPServerStatusNotConfigured:
		return event.ServerConfigured
	case rpc.MCPServerStatusDisabled, rpc.MCPServerStatusStopped:
	}
	return event.ServerDisabled
}

// SignIn makes the CLI wait for the browser and returns the page to open.
func (c *conversation) SignIn(ctx context.Context, server string) (string, error) {
	back := "You are signed in. Close this page and go back to the portal."
	result, err := fetch(ctx, c.agent, callTimeout, func(ctx context.Context) (*rpc.MCPOauthLoginResult, error) {
		return c.session.RPC.MCP.Oauth().Login(ctx, &rpc.MCPOauthLoginRequest{
			ServerName: server, ClientName: vendor.String("Copilot Portal"), CallbackSuccessMessage: &back,
		})
	})
	if err != nil {
		return "", fault.Errorf(fault.Invalid, "cannot start the sign-in to %q: %w", server, err)
	}
	return text(result.AuthorizationURL), nil
}
