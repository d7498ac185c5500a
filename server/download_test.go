package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/server/portaltest"
)

func exports(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	id := p.StartSession(t.TempDir(), "permissions=allow")
	p.Query(id, "think about birds, run `echo heron` and say `**done**`")
	p.Until(id, "onIdle")
	path := "/api/copilot/session/" + id + "/export"

	status, text := p.Do("GET", path, "")
	require.Equal(t, 200, status)
	for _, part := range []string{"## Prompt", "> think about birds", "Reasoning", "### Tool `bash`", "heron", "**done**"} {
		assert.Contains(t, text, part)
	}

	status, text = p.Do("GET", path+"?format=jsonl", "")
	require.Equal(t, 200, status)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	assert.Contains(t, lines[0], `"type":"session"`)
	outcome := event.Outcome("")
	for _, line := range lines[1:] {
		e, err := event.Decode([]byte(line))
		require.NoError(t, err, line)
		if end, ok := e.Body.(event.RunEnded); ok {
			outcome = end.Outcome
		}
	}
	assert.Equal(t, event.Completed, outcome)

	status, text = p.Do("GET", path+"?format=pdf", "")
	assert.Equal(t, 400, status)
	assert.Contains(t, text, "use markdown or jsonl")
	_, text = p.Do("GET", "/api/copilot/session/none/export", "")
	assert.JSONEq(t, `{"error":"SessionNotFound"}`, text)
}
