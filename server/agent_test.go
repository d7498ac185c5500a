package server_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// The program is another portal, which runs the real CLI.
func TestAgentCommandReplacesTheCLI(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--agent-command", "'" + portaltest.Binary(t) + "' cli --demo"}})
	models, _ := p.API("GET", "copilot/models", "")["models"].([]any)
	require.Len(t, models, 1)
	model, _ := models[0].(map[string]any)
	id, _ := model["id"].(string)
	session := p.API("POST", "copilot/session/start/"+id, t.TempDir()).Text("sessionId")
	require.NotEmpty(t, session)
	assert.Contains(t, portaltest.Answer(p.Run(session, "say `a heron` please")), "heron")
	assert.Contains(t, portaltest.Answer(p.Run(session, "recall")), "a heron", "one conversation")
}
