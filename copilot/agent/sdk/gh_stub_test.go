package sdk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
)

// ghOf starts a CLI with a PATH and returns the PATH that the CLI got.
func ghOf(t *testing.T, path string) (of string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	agent, err := scriptedCLI{Version: sdk.MinVersion}.driver(t, func(o *sdk.Options) { o.Env = append(o.Env, "PATH="+path) }).Launch(t.Context())
	require.NoError(t, err)
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(agent.(*sdk.Agent).PID()) + "/environ")
	require.NoError(t, err)
	variables := strings.Split(string(environ), "\x00")
	of = variables[slices.IndexFunc(variables, func(v string) bool { return strings.HasPrefix(v, "PATH=") })]
	if dir := filepath.Base(of); strings.HasPrefix(dir, "portal-gh-") {
		out, err := exec.Command(filepath.Join(os.Getenv("TMPDIR"), dir, "gh"), "auth", "token").CombinedOutput()
		require.Error(t, err, "no user is signed in")
		assert.Contains(t, string(out), "not installed")
		assert.Contains(t, string(out), "https://cli.github.com")
	}
	agent.Stop(t.Context())
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left, "no file is left behind")
	return strings.TrimPrefix(of, "PATH=")
}

func TestCLIWithoutGHGetsStub(t *testing.T) {
	path := t.TempDir()
	assert.True(t, strings.HasPrefix(ghOf(t, path), path+":"), "the stub comes last")
}

func TestRealGHIsUsed(t *testing.T) {
	path := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(path, "gh"), []byte("#!/bin/sh\n"), 0o700))
	assert.Equal(t, path, ghOf(t, path))
}

func TestCLIWithoutAccountStartsNoGH(t *testing.T) {
	for name, without := range map[string]bool{"with an account": false, "without one": true} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			started := filepath.Join(path, "started")
			require.NoError(t, os.WriteFile(filepath.Join(path, "gh"), []byte("#!/bin/sh\n: >"+started+"\nexit 1\n"), 0o700))
			w := whole{t, host(t, copilot.Options{}, func(o *sdk.Options) {
				o.WithoutAccount, o.DemoAlways = without, true
				o.Env = append(o.Env, "PATH="+path)
			})}
			assert.Equal(t, "hello", w.start(func(s *copilot.Start) { s.Model = demo.ModelID }).run(text("say `hello`")))
			if without {
				assert.NoFileExists(t, started)
			} else {
				assert.FileExists(t, started)
			}
		})
	}
}

func TestTemporaryFilesOfKilledPortalsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	for _, prefix := range []string{"portal-gh-", "portal-net-"} {
		gone, lives := filepath.Join(dir, prefix+strconv.Itoa(ended.Process.Pid)+"-1"), filepath.Join(dir, prefix+strconv.Itoa(os.Getpid())+"-1")
		require.NoError(t, os.Mkdir(gone, 0o700))
		require.NoError(t, os.Mkdir(lives, 0o700))
		sdk.RemoveLeft()
		assert.NoDirExists(t, gone)
		assert.DirExists(t, lives)
	}
}
