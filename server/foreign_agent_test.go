package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/acp/foreign"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/server/portaltest"
)

// foreignPortal starts a portal whose default agent is not the Copilot CLI of the SDK.
func foreignPortal(t *testing.T, name, model string, program foreign.Program) *portaltest.Portal {
	t.Helper()
	agent, err := json.Marshal(map[string]any{"name": name, "command": program.Command[0], "args": program.Command[1:], "env": program.Env})
	require.NoError(t, err)
	return portaltest.Start(t, portaltest.Options{Config: fmt.Sprintf("model: %s/%s\nagents: [%s]\n", name, model, agent)})
}

// TestForeignAgentsWorkLikeTheFirst uses agents of the Agent Client Protocol: two that are not ours, and another portal.
func TestForeignAgentsWorkLikeTheFirst(t *testing.T) {
	t.Parallel()
	scripted := func(set func(tb testing.TB, url, key string) foreign.Program) func(*testing.T) foreign.Program {
		return func(t *testing.T) foreign.Program {
			t.Helper()
			s, err := demo.Start()
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close() })
			return set(t, s.URL(), s.Key())
		}
	}
	for _, c := range []struct {
		name, model string
		program     func(*testing.T) foreign.Program
	}{
		{"opencode", "portal/" + demo.ModelID, scripted(foreign.Opencode)},
		{"copilot-acp", "default", scripted(foreign.Copilot)},
		{"chain", demo.ModelID, func(t *testing.T) foreign.Program {
			t.Helper()
			return foreign.Program{Command: []string{portaltest.Binary(t), "acp", "--demo"}, Env: portaltest.Environ(t.TempDir())}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := foreignPortal(t, c.name, c.model, c.program(t))
			asksBeforeItActs(t, p, c.name+"/"+c.model)
			recoversFromDeath(t, p, c.name+"/"+c.model)
			if c.name != "opencode" || os.Getenv("PORTAL_SOAK") != "" { // it takes long
				jobUntil(t, p, startJob(t, p, "understand", repository(t)), "jobSucceeded")
			}
			visitor := visit(t, p, "")
			id := operate(t, p, visitor, `{"type": "prompt", "prompt": "say `+"`hello there`"+`"}`)
			_, err := readMessages(t, watch(t, p, visitor, id, -1), nil)
			require.Error(t, err, "the portal closes the connection at the end")
			assert.Equal(t, "completed", statusOf(t, p, visitor, id))
		})
	}
}

// asksBeforeItActs answers a question about a command, and refuses the next one.
func asksBeforeItActs(t *testing.T, p *portaltest.Portal, model string) {
	t.Helper()
	dir := t.TempDir()
	id := p.API("POST", "copilot/session/start/"+model+"?permissions=ask", dir).Text("sessionId")
	require.NotEmpty(t, id)
	session := "copilot/session/" + id
	for name, approved := range map[string]bool{"made": true, "refused": false} {
		p.Query(id, "run `echo x > "+name+"`")
		asked := find(t, p.Until(id, "onPermissionRequest"), "onPermissionRequest")
		assert.Equal(t, "echo x > "+name, asked.Text("detail"))
		assert.Empty(t, p.API("POST", session+"/answer/"+asked.Text("requestId"), fmt.Sprintf(`{"approved":%v}`, approved)))
		p.Until(id, "onIdle")
		_, err := os.Stat(filepath.Join(dir, name))
		assert.Equal(t, approved, err == nil, name)
	}
	assert.Empty(t, p.API("POST", session+"/stop", "")["error"])
}

// recoversFromDeath kills the agent with its children during a run, and continues the conversation.
func recoversFromDeath(t *testing.T, p *portaltest.Portal, model string) {
	t.Helper()
	id := p.API("POST", "copilot/session/start/"+model+"?permissions=allow", t.TempDir()).Text("sessionId")
	require.NotEmpty(t, id)
	assert.Contains(t, portaltest.Answer(p.Run(id, "say `a heron`")), "a heron")
	p.Query(id, "say `here`, then wait 60000 ms")
	p.Until(id, "onMessage")
	killed := 0
	for _, c := range p.Children() {
		if (strings.Contains(c.Command, " acp") || strings.Contains(c.Command, " --acp")) && syscall.Kill(c.PID, syscall.SIGKILL) == nil { // it may have ended with another one
			killed++
		}
	}
	require.Positive(t, killed, model)
	p.Until(id, "onIdle")
	require.Eventually(t, func() bool {
		return strings.Contains(portaltest.Answer(p.Run(id, "recall")), "a heron")
	}, agentStarts, time.Second, "the agent still knows the conversation")
}
