package assets_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/acp/foreign"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/server/portaltest"
)

// usesOtherAgents uses opencode, an agent that is not ours, in a session of the page.
func usesOtherAgents(t page) {
	model, err := demo.Start()
	require.NoError(t, err)
	t.Cleanup(func() { _ = model.Close() })
	program := foreign.Opencode(t, model.URL(), model.Key())
	agent, err := json.Marshal(map[string]any{"name": "opencode", "command": program.Command[0], "args": program.Command[1:], "env": program.Env})
	require.NoError(t, err)
	t.portal = startPortal(t, portaltest.Options{Args: []string{"--demo"}, Config: fmt.Sprintf("agents: [%s]\n", agent)})
	dir := t.TempDir()
	session := t.portal.API("POST", "copilot/session/start/opencode/portal/demo?permissions=ask", dir).Text("sessionId")
	require.NotEmpty(t, session)

	b := t.visit(session)
	send(b, "run `echo x > made`")
	b.WaitText(id("prompt-block"), "echo x > made")
	b.Click(id("allow"))
	idle(b, 1)
	assert.FileExists(t, filepath.Join(dir, "made"))
	b.WaitText(".chip-button", "demo")
	b.Click(id("chip-model"))
	b.WaitText(".chip-menu .choice-group", "opencode")
	a := access{t.T, t.chromium, t.portal, axeSource(t.T)}
	a.load(b)
	a.check(b, "the models of several agents")
	assert.False(t, b.Is(`document.querySelector('[data-testid="bar-retry"], [data-testid="bar-fork"]') !== null`), "what needs a fork is not offered")
	b.Click(row(session, ".row-more"))
	b.WaitText(id("menu-share"), "Share")
	assert.False(t, b.Is(`document.querySelector('[data-testid="menu-fork"]') !== null`), "nor in the list")
	assert.True(t, b.Is(`document.querySelector('[data-testid="chip-mode"]').closest("[hidden]") !== null`), "it has one mode")
}
