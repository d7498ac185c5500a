package acp

import (
	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
)

// setServers replaces the MCP servers of a session by those of the editor.
func setServers(s *copilot.Session, list []acp.Server) error {
	servers, err := serverConfigs(list)
	if err != nil {
		return err
	}
	return s.SetServers(servers)
}

func serverConfigs(list []acp.Server) ([]agent.ServerConfig, error) {
	servers := make([]agent.ServerConfig, 0, len(list))
	for _, s := range list {
		config, err := serverConfig(s)
		if err != nil {
			return nil, err
		}
		servers = append(servers, config)
	}
	return servers, nil
}

// serverConfig ignores members that the type does not have.
func serverConfig(s acp.Server) (agent.ServerConfig, error) {
	switch s.Type {
	case "", "stdio":
		return agent.ServerConfig{Name: s.Name, Command: s.Command, Args: s.Args, Env: byName(s.Env)}, nil
	case "http", "sse":
		return agent.ServerConfig{Name: s.Name, URL: s.URL, Headers: byName(s.Headers), SSE: s.Type == "sse"}, nil
	}
	return agent.ServerConfig{}, fault.Errorf(fault.Invalid, "MCP server %q: there is no type %q, only http, sse and programs without a type", s.Name, s.Type)
}

func byName(list []acp.NamedText) map[string]string {
	values := make(map[string]string, len(list))
	for _, v := range list {
		values[v.Name] = v.Value
	}
	return values
}
