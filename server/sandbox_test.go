package server_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

// withoutBubblewrap is a PATH on which all is found but bwrap.
func withoutBubblewrap(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "git", "bash"} {
		if path, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
		}
	}
	return "PATH=" + dir
}

func TestWithoutAWorkingSandboxNoSessionStarts(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--sandbox", "--token", "secret"}, Env: []string{withoutBubblewrap(t)}})
	start := func(token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/api/copilot/session/start/demo", strings.NewReader(t.TempDir()))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	_, said := start("secret")
	assert.Contains(t, said, "bubblewrap (bwrap) is not installed: install the package bubblewrap, or set sandbox: false")
	code, _ := start("wrong")
	assert.Equal(t, http.StatusUnauthorized, code)
}

func TestTheDoctorShowsWhetherTheSandboxWorks(t *testing.T) {
	t.Parallel()
	code, e, _ := examine(t, "sandbox: true", []string{withoutBubblewrap(t)}, "--port", "0")
	assert.Equal(t, 1, code)
	assert.Contains(t, e.find("sandbox"), "problem: bubblewrap (bwrap) is not installed")
	code, e, _ = examine(t, "sandbox: true", nil, "--port", "0")
	assert.Equal(t, 0, code, e)
	assert.Contains(t, e.find("sandbox"), "ok: bubblewrap works")
}

func TestASandboxedPortalWantsATokenOnLoopback(t *testing.T) {
	t.Parallel()
	s := inside(t, func(c *server.Config) { c.Sandbox = true })
	serve(t, s)
	assert.Regexp(t, `\?token=.{26,}$`, s.URL())
}
