package server_test

import (
	"os"
	"os/exec"
	"testing"

	acpsdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
	"github.com/copilot-portal/portal/server/portaltest"
)

// editorServers returns the test program as an MCP server of an editor.
func editorServers(t *testing.T, mark string) []acpsdk.McpServer {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return []acpsdk.McpServer{{Stdio: &acpsdk.McpServerStdio{
		Name: "desk", Command: path, Args: []string{},
		Env: []acpsdk.EnvVariable{{Name: formserver.Variable, Value: "1"}, {Name: formserver.Mark, Value: mark}},
	}}}
}

func TestModelUsesTheServersOfTheEditor(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(t *testing.T) *exec.Cmd{
		"on stdio": func(t *testing.T) *exec.Cmd {
			t.Helper()
			return acpProcess(t, "--demo")
		},
		"attached": func(t *testing.T) *exec.Cmd {
			t.Helper()
			return acpProcess(t, "--attach", portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}}).URL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, dir := runACP(t, command(t)), t.TempDir()
			s, err := e.NewSession(t.Context(), acpsdk.NewSessionRequest{Cwd: dir, McpServers: editorServers(t, "bread")})
			require.NoError(t, err)
			e.send(s.SessionId, "call `desk-where`")
			assert.Equal(t, []string{"Use where of desk"}, e.asked)
			assert.Contains(t, e.said(), "in "+dir+" with bread")
			_, err = e.LoadSession(t.Context(), acpsdk.LoadSessionRequest{SessionId: s.SessionId, Cwd: dir, McpServers: editorServers(t, "milk")})
			require.NoError(t, err)
			e.send(s.SessionId, "call `desk-where`")
			assert.Contains(t, e.said(), "in "+dir+" with milk")
			_, err = e.LoadSession(t.Context(), acpsdk.LoadSessionRequest{SessionId: s.SessionId, Cwd: dir, McpServers: []acpsdk.McpServer{}})
			require.NoError(t, err)
			e.send(s.SessionId, "call `desk-where`")
			assert.Contains(t, e.said(), "I was not offered the tool `desk-where`")
		})
	}
}
