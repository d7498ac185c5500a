package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestSessionHasTheServersOfItsClient(t *testing.T) {
	inTime(t, func(a *api) {
		a.create(document{"mcpServers": []document{
			{"name": "desk", "command": "desk", "args": []string{"-x"}, "variables": document{"KEY": "s3cret"}},
			{"name": "web", "url": "https://example.com/mcp", "headers": document{"Authorization": "Bearer x"}},
		}})
		assert.Equal(t, []agent.ServerConfig{
			{Name: "desk", Command: "desk", Args: []string{"-x"}, Env: map[string]string{"KEY": "s3cret"}},
			{Name: "web", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer x"}},
		}, a.agents.Calls(fake.Open)[0].Opening.Servers)
		_, failed := a.call("session.create", document{"mcpServers": []document{{"name": "desk"}}})
		assert.Contains(t, failed["data"], `MCP server "desk": the server needs either a command or a URL`)
	})
}
