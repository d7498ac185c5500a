package sdk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/sandbox"
	"github.com/copilot-portal/portal/copilot/sdk"
)

// sandboxed starts a host whose CLIs run in sandboxes, and gives its home.
func sandboxed(t *testing.T) (h *copilot.Host, home string) {
	t.Helper()
	require.NoError(t, sandbox.Probe(t.Context()), "make deps installs bubblewrap")
	o := options(t)
	home, err := os.MkdirTemp("../../bin", "home-") //nolint:usetesting // not below /tmp, which is empty in a sandbox
	require.NoError(t, err)
	home, err = filepath.Abs(home)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	o.Env = environ(home)
	state := filepath.Join(home, "state")
	require.NoError(t, os.Mkdir(state, 0o700))
	o.Env = append(o.Env, "COPILOT_HOME="+state, "PORTAL_TOKEN=secret")
	o.Sandbox = &sandbox.Box{Home: home, State: []string{state}}
	driver := sdk.New(o)
	h = copilot.NewHost(copilot.Options{LaunchIn: driver.LaunchIn, Health: driver.Health, Policy: copilot.Policy{"*": copilot.Allow}})
	t.Cleanup(func() { h.Close(t.Context()) })
	return h, home
}

func TestASandboxedAgentWritesToItsDirectoryAlone(t *testing.T) {
	h, home := sandboxed(t)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".ssh", "id"), []byte("private"), 0o600))
	for _, directory := range []string{filepath.Join(home, "one"), filepath.Join(t.TempDir(), "two")} {
		require.NoError(t, os.MkdirAll(directory, 0o700))
		v := whole{T: t, host: h}.start(func(s *copilot.Start) { s.Directory = directory })
		script := "touch inside; touch " + home + "/outside; cat " + home + "/.ssh/id >stolen; echo $PORTAL_TOKEN >token; ps -e >processes; true"
		require.NoError(t, os.WriteFile(filepath.Join(directory, "try.sh"), []byte(script), 0o600))
		v.run(copilot.Prompt{Text: "run `sh try.sh`"})
		assert.FileExists(t, filepath.Join(directory, "inside"))
		assert.NoFileExists(t, filepath.Join(home, "outside"))
		for _, name := range []string{"stolen", "token"} {
			text, err := os.ReadFile(filepath.Join(directory, name))
			require.NoError(t, err)
			assert.Empty(t, strings.TrimSpace(string(text)), name)
		}
	}
	assert.NoFileExists(t, filepath.Join(home, "one", "outside"))
}
