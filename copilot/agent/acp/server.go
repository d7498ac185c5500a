package acp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// servers converts the servers of an opening, those that the agent cannot use without.
func (a *Agent) servers(list []agent.ServerConfig) (usable []acp.Server, others []string) {
	usable = []acp.Server{} // required, also if there are none
	can := a.info.Capabilities.Servers
	for _, s := range list {
		switch {
		case s.Command != "":
			usable = append(usable, acp.Server{Name: s.Name, Command: s.Command, Args: append([]string{}, s.Args...), Env: named(s.Env)})
		case s.SSE && can.SSE:
			usable = append(usable, acp.Server{Type: "sse", Name: s.Name, URL: s.URL, Headers: named(s.Headers)})
		case !s.SSE && can.HTTP:
			usable = append(usable, acp.Server{Type: "http", Name: s.Name, URL: s.URL, Headers: named(s.Headers)})
		default:
			others = append(others, s.Name)
		}
	}
	return usable, others
}

func named(m map[string]string) []acp.NamedText {
	list := []acp.NamedText{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, acp.NamedText{Name: name, Value: m[name]})
	}
	return list
}

// reportServers reports the servers that the agent cannot use. The caller must hold the lock.
func (c *conversation) reportServers(others []string) {
	if len(others) > 0 {
		c.emit(event.SessionError{
			Kind: fault.Invalid,
			Text: fmt.Sprintf("the agent %s cannot use the MCP servers %q: it has no such transport", c.agent.Name, others),
		})
	}
}

// Extensions lists the servers that were passed to the agent. The protocol reports neither their state nor others.
func (c *conversation) Extensions(ctx context.Context) (agent.Extensions, error) {
	list := make([]event.Server, 0, len(c.servers))
	for _, s := range c.servers {
		if s.Name == c.tools.server {
			continue // the portal's own
		}
		list = append(list, event.Server{Name: s.Name, State: event.ServerConfigured, Transport: cmp.Or(s.Type, "stdio")})
	}
	return agent.Extensions{Servers: list}, c.usable(ctx)
}
