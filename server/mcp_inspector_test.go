package server_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// inspector is the command-line client of the MCP inspector. Each call connects anew.
type inspector struct {
	*testing.T
	target []string // how to reach the portal
	home   string
}

// run returns what the inspector prints.
func (i *inspector) run(args ...string) []byte {
	i.Helper()
	tools, err := filepath.Abs(filepath.Join("..", ".tools", "inspector"))
	require.NoError(i, err)
	node := filepath.Join(tools, "node", "node_modules", "node", "bin", "node")
	args = append(append([]string{filepath.Join(tools, "node_modules", ".bin", "mcp-inspector"), "--cli"}, i.target...), args...)
	command := exec.CommandContext(i.Context(), node, args...)
	command.Dir, command.Env = i.TempDir(), portaltest.Environ(i.home)
	out, err := command.Output()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		require.Fail(i, "the inspector reports an error; `make inspector` installs it", "%s\n%s", exit.Stderr, out)
	}
	require.NoError(i, err, "`make inspector` installs it")
	return out
}

// use calls a tool and returns its result.
func (i *inspector) use(tool string, arguments ...string) (result document) {
	i.Helper()
	args := []string{"--method", "tools/call", "--tool-name", tool}
	if len(arguments) > 0 {
		args = append(append(args, "--tool-arg"), arguments...)
	}
	var got struct{ StructuredContent document }
	require.NoError(i, json.Unmarshal(i.run(args...), &got))
	return got.StructuredContent
}

// finish waits for a run however long it takes.
func (i *inspector) finish(got document) document {
	i.Helper()
	if got["state"] == "working" || got["state"] == "queued" {
		return i.use("wait", "sessionId="+text(got["sessionId"]), "runId="+text(got["runId"]), "waitSeconds=300")
	}
	return got
}

func TestMCPInspectorUsesThePortal(t *testing.T) {
	t.Parallel()
	t.Run("on stdio", func(t *testing.T) { // each call starts a portal, so the sessions are those of TestMCPClientWorksWithSessions
		t.Parallel()
		i := &inspector{T: t, home: t.TempDir()}
		i.target = []string{portaltest.Binary(t), "mcp", "--demo"}
		for _, variable := range portaltest.Environ(i.home) {
			if !strings.HasSuffix(variable, "=") { // the inspector refuses empty ones
				i.target = append(i.target, "-e", variable) // and passes on only some by itself
			}
		}
		i.starts(t.TempDir())
	})
	t.Run("over HTTP", func(t *testing.T) {
		t.Parallel()
		p, dir := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--token", "secret"}}), t.TempDir()
		i := &inspector{t, []string{p.URL + "/mcp", "--transport", "http", "--header", "Authorization: Bearer secret"}, t.TempDir()}
		session := i.starts(dir)
		got := i.finish(i.use("prompt", session, "prompt=run `echo hero > made` and say `all done`"))
		require.Equal(t, "waiting", got["state"], "the agent asks before it runs a command")
		questions, _ := got["questions"].([]any)
		require.Len(t, questions, 1)
		q, _ := questions[0].(document)
		assert.NoFileExists(t, filepath.Join(dir, "made"))
		got = i.finish(i.use("answer", session, "questionId="+text(q["questionId"]), "approved=true"))
		require.Equal(t, "completed", got["state"])
		assert.Equal(t, "all done", got["answer"])
		assert.FileExists(t, filepath.Join(dir, "made"))
		assert.Contains(t, string(i.run("--method", "resources/read", "--uri", "portal://sessions")), text(got["sessionId"]))
	})
}

// starts checks the lists of tools and resources, and starts a session, which it returns as an argument of tools.
func (i *inspector) starts(dir string) (session string) {
	i.Helper()
	assert.Contains(i, string(i.run("--method", "tools/list", "--strict")), `"start_session"`, "--strict fails for schemas that clients may not understand")
	assert.Contains(i, string(i.run("--method", "resources/list")), "portal://sessions")
	id := text(i.use("start_session", "directory="+dir)["sessionId"])
	require.NotEmpty(i, id)
	return "sessionId=" + id
}

// text returns a string of a document, "" if it is none.
func text(v any) string {
	s, _ := v.(string)
	return s
}
