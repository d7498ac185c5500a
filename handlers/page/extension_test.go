package page_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

func TestExtensionsOfNewSessionsAreListedAndChanged(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Extensions = agent.Extensions{
			Servers: []event.Server{{Name: "mail", State: event.ServerSignIn, Transport: "http", Source: "workspace", Error: "no token"}},
			Skills:  []agent.Skill{{Name: "pdf", Description: "Reads", Source: "project", Enabled: true}},
			Agents:  []agent.CustomAgent{{Name: "heron", Description: "Watches", Source: "user", Tools: []string{"read"}}},
		}
		u := p.Able()
		here := document{"directory": "/"}
		add := document{"name": "desk", "command": "x", "args": []string{"y"}, "variables": document{"KEY": "s3cret"}}
		assert.Equal(t, document{}, u.Ask("portal.server.add", add))
		assert.Equal(t, -32602, u.Ask("portal.server.add", add)["code"], "the name is taken")
		assert.Equal(t, document{
			"directory": "/",
			"servers": []any{
				document{"name": "mail", "state": "needs-sign-in", "error": "no token", "source": "workspace", "transport": "http"},
				document{"name": "desk", "state": "configured", "source": "user", "transport": "stdio", "config": document{"command": "x", "args": []any{"y"}, "variables": []any{"KEY"}}},
			},
			"skills": []any{document{"name": "pdf", "description": "Reads", "source": "project", "enabled": true}},
			"agents": []any{document{"name": "heron", "description": "Watches", "source": "user", "tools": []any{"read"}}},
		}, u.Ask("portal.extensions.list", here))
		assert.Equal(t, document{}, u.Ask("portal.server.enable", document{"directory": "/", "name": "desk", "enabled": false}))
		assert.Equal(t, document{}, u.Ask("portal.skill.enable", document{"directory": "/", "name": "pdf", "enabled": false}))
		checked, _ := u.Ask("portal.servers.check", here)["servers"].([]any)
		assert.Contains(t, checked, document{"name": "desk", "state": "disabled", "source": "user", "transport": "stdio"})
		assert.Equal(t, document{}, u.Ask("portal.server.remove", document{"name": "desk"}))
		for method, params := range map[string]document{
			"portal.server.remove":   {"name": "desk"},
			"portal.server.enable":   {"directory": "/", "name": "mail"},
			"portal.skill.enable":    {"directory": "/", "name": "none", "enabled": true},
			"portal.extensions.list": {"directory": "here"},
			"portal.server.add":      {"name": "x"},
		} {
			assert.Equal(t, -32602, u.Ask(method, params)["code"], method)
		}
	})
}
