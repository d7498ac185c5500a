package server_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestOnlyWhatOpensTheDataNeedsAPlaceForIt(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}})
	const fault = "data_dir: the environment names no home directory (HOME)"
	for _, tc := range []struct {
		fails bool
		args  []string
	}{
		{false, []string{"config"}},
		{false, []string{"mcp", "--attach", p.URL}},
		{false, []string{"acp", "--attach", p.URL}},
		{false, []string{"stdio", "--attach", p.URL}},
		{false, []string{"jobs", "list"}},
		{true, []string{"--port", "0"}},
		{true, []string{"mcp"}},
		{true, []string{"acp"}},
		{true, []string{"stdio"}},
		{true, []string{"cli"}},
		{true, []string{"ask", "hi"}},
		{true, []string{"sessions", "list"}},
		{true, []string{"jobs", "status"}},
		{true, []string{"jobs", "run", "hello"}},
		{true, []string{"cluster", "leave"}},
	} {
		dir := t.TempDir()
		code, _, stderr := runCommand(t, soon, exec.Cmd{Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: dir}, tc.args)
		if tc.fails {
			assert.Equal(t, 1, code, tc.args)
			assert.Contains(t, stderr, fault, tc.args)
		} else {
			assert.NotContains(t, stderr, fault, tc.args)
			assert.Equal(t, 0, code, "%v: %s", tc.args, stderr)
		}
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left, tc.args)
	}
}

func TestDoctorReportsTheMissingPlaceOfTheDataWithItsOtherChecks(t *testing.T) {
	t.Parallel()
	code, e, _ := examine(t, "", []string{"HOME=", "XDG_DATA_HOME="}, "--port", "0", "--copilot-path", noAgent)
	assert.Equal(t, 1, code)
	assert.Contains(t, e.find("configuration"), "ok: ")
	assert.Contains(t, e.find("data directory"), "problem: data_dir: the environment names no home directory (HOME)")
	assert.NotEmpty(t, e.find("port"))
}
