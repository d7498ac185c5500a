package server_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestStatusContainsSettingsWithoutSecrets(t *testing.T) {
	t.Parallel()
	s := portaltest.StdioWith(t, portaltest.Options{Env: []string{"PORTAL_TOKEN=sesame-token"}, Config: `
permissions: {headless: ask, rules: {git.push: deny}}
providers: [{name: local, base_url: "http://127.0.0.1:1/v1", api_key: sesame-key, models: [small]}]
`})
	s.Send(`{"jsonrpc":"2.0","id":"1","method":"portal.status"}`)
	result := answer(t, s.UI, "1")["result"]
	text, err := json.Marshal(result)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "sesame")
	status, _ := result.(document)
	assert.Equal(t, []any{document{"name": "local", "type": "openai", "models": []any{"small"}}}, status["providers"])
	settings, _ := status["configuration"].(document)
	assert.FileExists(t, settings["file"].(string))
	assert.Equal(t, document{"rest": "allow", "headless": "ask", "rules": document{"git.push": "deny"}}, settings["permissions"])
	storage, _ := status["storage"].(document)
	assert.Equal(t, true, storage["ok"])
	assert.DirExists(t, storage["directory"].(string))
	assert.Positive(t, storage["bytes"])
}

func TestStatusExplainsMissingStorage(t *testing.T) {
	t.Parallel()
	s := portaltest.StdioWith(t, portaltest.Options{Args: []string{"--ephemeral"}})
	s.Send(`{"jsonrpc":"2.0","id":"1","method":"portal.status"}`)
	status, _ := answer(t, s.UI, "1")["result"].(document)
	storage, _ := status["storage"].(document)
	assert.Equal(t, false, storage["ok"])
	assert.Contains(t, storage["message"], "--ephemeral")
}
