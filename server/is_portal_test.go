package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/server/portaltest"
)

// copied returns the path of a copy of the program, such as apps ship. Another process writes it: a file that this one has written may be
// busy while other tests start programs.
func copied(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, exec.CommandContext(t.Context(), "cp", portaltest.Binary(t), path).Run())
	return path
}

var itself = regexp.MustCompile(`COPILOT_CLI_PATH names a portal \(/\S+/copilot-cli\), not the Copilot CLI. It is ignored`)

// Apps set the variable to start a portal as their CLI, and the portal's child processes inherit it.
func TestVariableNamingAPortalIsSkipped(t *testing.T) {
	t.Parallel()
	book := filepath.Join(t.TempDir(), "jobs.yaml")
	require.NoError(t, os.WriteFile(book, []byte("models: {driving: \"\"}\ntasks: {t: {prompt: [\"say `it is me`\"]}}\njobs: {j: {work: {kind: Ref, taskId: t}}}\n"), 0o600))
	variable := "COPILOT_CLI_PATH=" + linked(t)
	for name, args := range map[string][]string{
		"ask":    {"ask", "--demo", "say `it is me`"},
		"models": {"models", "--demo"},
		"doctor": {"doctor", "--port", "0"},
		"jobs":   {"jobs", "run", "j", "--demo", "--jobs", book, "--directory", t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := runCommand(t, agentStarts, exec.Cmd{Env: append(portaltest.Environ(t.TempDir()), variable)}, args)
			assert.Equal(t, 0, code, stderr)
			assert.NotEmpty(t, stdout+stderr)
			assert.Regexp(t, itself, stderr)
			if name == "doctor" {
				assert.Regexp(t, itself, stdout)
			}
		})
	}
	t.Run("serve", func(t *testing.T) {
		t.Parallel()
		p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}, Env: []string{"COPILOT_CLI_PATH=" + copied(t, "copilot-cli")}})
		assert.Equal(t, "it is me", portaltest.Answer(p.Run(p.StartSession(t.TempDir(), ""), "say `it is me`")))
		require.Eventually(t, func() bool { return itself.MatchString(p.Stderr()) }, soon, tick, "the log is written concurrently")
	})
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		s := portaltest.StdioWith(t, portaltest.Options{Args: []string{"--demo"}, Env: []string{variable}})
		s.Send(greet)
		answer(t, s.UI, "1")
		require.Eventually(t, func() bool { return itself.MatchString(s.Stderr()) }, soon, tick, "the log is written concurrently")
	})
	t.Run("cli", func(t *testing.T) {
		t.Parallel()
		request := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n")
		code, stdout, stderr := runCommand(t, agentStarts, exec.Cmd{Env: append(portaltest.Environ(t.TempDir()), variable), Stdin: request}, []string{"cli", "--demo"})
		assert.Equal(t, 0, code, stderr)
		assert.Contains(t, stdout, "serverName")
		assert.Regexp(t, itself, stderr)
	})
}

func TestPortalIsRecognizedAnywhere(t *testing.T) {
	t.Parallel()
	assert.True(t, sdk.IsPortal(portaltest.Binary(t)))
	assert.True(t, sdk.IsPortal(linked(t)))
	assert.True(t, sdk.IsPortal(copied(t, "copilot-cli")))
	assert.False(t, sdk.IsPortal(filepath.Join(filepath.Dir(portaltest.Binary(t)), "copilot")))
	assert.False(t, sdk.IsPortal("/bin/sh"))
	assert.False(t, sdk.IsPortal("/nowhere/copilot-cli"))
	own, err := os.Executable()
	require.NoError(t, err)
	assert.False(t, sdk.IsPortal(own), "a test is not a portal")

	for name, locate := range map[string]sdk.Locate{
		"--copilot-path or copilot_path names": {Configured: linked(t)}, "COPILOT_CLI_PATH names": {Environment: linked(t)},
	} {
		_, err := sdk.New(sdk.Options{Locate: locate}).Path()
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "is a portal, not the Copilot CLI")
	}
}

func TestPortalIsNotUsedAsTheCLI(t *testing.T) {
	portals, clis := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(portaltest.Binary(t), filepath.Join(portals, "copilot")))
	cli := filepath.Join(clis, "copilot")
	require.NoError(t, os.WriteFile(cli, []byte("#!/bin/sh\n"), 0o700))
	find := func(beside string) (string, error) {
		return sdk.New(sdk.Options{Locate: sdk.Locate{Beside: beside}}).Path()
	}

	t.Setenv("PATH", clis)
	found, err := find(portals)
	require.NoError(t, err)
	assert.Equal(t, cli, found, "one beside the portal is skipped")
	t.Setenv("PATH", portals)
	_, err = find("")
	require.ErrorContains(t, err, "is a portal, not the Copilot CLI", "one on PATH is refused")
}
