package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestStoredSessionsAreReadableWithoutWriteAccess(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	p.Run(id, "say `the heron stands`")
	p.Stop()

	show := exec.CommandContext(t.Context(), "bwrap", "--dev-bind", "/", "/", "--ro-bind", p.DataDir(), p.DataDir(),
		portaltest.Binary(t), "sessions", "show", id)
	show.Env, show.Dir = portaltest.Environ(p.Home), t.TempDir()
	out, err := show.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "the heron stands")

	lock := filepath.Join(p.DataDir(), "sessions.db.lock") // a directory in its place also prevents root from writing
	require.NoError(t, os.RemoveAll(lock))
	require.NoError(t, os.Mkdir(lock, 0o700))
	p = p.Restart()
	_, health := p.Do("GET", "/health", "")
	assert.Contains(t, health, `"state":"read-only"`)
	status, past := p.Do("GET", "/api/copilot/session/"+id+"/history", "")
	assert.Equal(t, 200, status)
	assert.Contains(t, past, "the heron stands")
	p.Run(p.StartSession(t.TempDir(), ""), "say `memory keeps this one`")
	require.NoError(t, os.Remove(lock))
}
