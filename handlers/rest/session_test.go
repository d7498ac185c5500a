package rest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestSessionHasTheServersOfItsClient(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		d := a.call("POST", "/copilot/session/start/model-a", `{"workingDirectory": "/tmp", "mcpServers": [
			{"name": "desk", "command": "desk", "args": ["-x"], "variables": {"KEY": "s3cret"}},
			{"name": "web", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer x"}}]}`)
		require.NotEmpty(a, d["sessionId"], d)
		opening := a.agents.Calls(fake.Open)[0].Opening
		assert.Equal(a, "/tmp", opening.Directory)
		assert.Equal(a, []agent.ServerConfig{
			{Name: "desk", Command: "desk", Args: []string{"-x"}, Env: map[string]string{"KEY": "s3cret"}},
			{Name: "web", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer x"}},
		}, opening.Servers)
	})
}

func TestInvalidBodiesOfStartAreRefused(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		for body, want := range map[string]string{
			`{"mcpServers": [{"name": "desk"}]}`: `MCP server "desk": the server needs either a command or a URL`,
			`{"workingDirectory": "relative"}`:   "WorkingDirectoryNotAbsolutePath",
			`{/tmp`:                              "the body must be a directory, or {",
			`relative`:                           "WorkingDirectoryNotAbsolutePath",
		} {
			assert.Contains(a, a.call("POST", "/copilot/session/start/model-a", body)["error"], want, body)
		}
	})
}
