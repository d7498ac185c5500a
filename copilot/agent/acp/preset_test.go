package acp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestPresetAsksAndOpensNoPort(t *testing.T) {
	d := acp.New(acp.Options{Name: "opencode", Command: []string{"none"}, Env: []string{"OPENCODE_DISABLE_AUTOUPDATE=0"}, Saved: t.TempDir()})
	env, err := d.Environ()
	require.NoError(t, err)
	has := func(prefix string) bool {
		return slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, prefix) })
	}
	assert.True(t, has(`OPENCODE_PERMISSION={"*":"ask"`))
	assert.True(t, has("OPENCODE_DISABLE_AUTOUPDATE=0"), "what the user sets stays")
	assert.False(t, has("OPENCODE_DISABLE_AUTOUPDATE=1"))
	i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "OPENCODE_SERVER_PASSWORD=") })
	require.GreaterOrEqual(t, i, 0)
	again, err := d.Environ()
	require.NoError(t, err)
	assert.NotContains(t, again, env[i], "a password for each start")
}

func TestDirectoryThatRunsCommandsIsRefused(t *testing.T) {
	for name, files := range map[string][]string{
		"codex": {".codex/config.toml"}, "copilot-acp": {".github/hooks/x.json"}, "gemini": {".gemini/settings.json", ".env"},
		"opencode": {".opencode/plugin/x.js", "opencode.json", "opencode.jsonc"}, "claude": nil, "unknown": nil,
	} {
		for _, file := range append(files, "README.md") {
			t.Run(name+" "+file, func(t *testing.T) {
				root := t.TempDir()
				below, link := filepath.Join(root, "a", "b"), filepath.Join(t.TempDir(), "link")
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte("x"), 0o600))
				require.NoError(t, os.MkdirAll(below, 0o700))
				require.NoError(t, os.Symlink(below, link))
				for _, directory := range []string{root, below, link} {
					err := open(t, acp.Options{Name: name}, directory)
					if file == "README.md" {
						require.NoError(t, err)
						continue
					}
					require.Equal(t, fault.Denied, fault.KindOf(err), "%v", err)
					require.ErrorContains(t, err, filepath.Join(root, strings.Split(file, "/")[0]))
					require.NoError(t, open(t, acp.Options{Name: name, TrustDirectories: true}, directory))
				}
			})
		}
	}
}

// open opens and closes a session of a scripted agent with a name.
func open(t *testing.T, o acp.Options, directory string) error {
	t.Helper()
	s := scriptOf(t, o, jsonrpc.Methods{})
	c, err := s.launch().Open(t.Context(), agent.Opening{Session: "p", Model: o.Name + "/default", Directory: directory}, func(string, event.Body) {})
	if err == nil {
		require.NoError(t, c.Close(t.Context()))
	}
	return err
}

func TestHomeIsTheUsersOwn(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	require.NoError(t, os.Mkdir(filepath.Join(home, ".codex"), 0o700))
	directory := filepath.Join(home, "work")
	require.NoError(t, os.Mkdir(directory, 0o700))
	require.NoError(t, open(t, acp.Options{Name: "codex"}, directory))
}

func TestSettingsOfADirectoryAreLeftOutUnlessTrusted(t *testing.T) {
	for trust, want := range map[bool]string{false: `["user"]`, true: `["user","project","local"]`} {
		var sources string
		s := scriptOf(t, acp.Options{Name: "claude", TrustDirectories: trust}, jsonrpc.Methods{"session/new": {Handle: func(_ context.Context, r *jsonrpc.Request) (any, error) {
			var p struct {
				Meta struct {
					Claude struct {
						Options struct {
							Sources json.RawMessage `json:"settingSources"`
						} `json:"options"`
					} `json:"claudeCode"`
				} `json:"_meta"`
			}
			err := r.Decode(&p)
			sources = string(p.Meta.Claude.Options.Sources)
			return document{"sessionId": "s1"}, err
		}}})
		_, err := s.launch().Open(t.Context(), agent.Opening{Session: "p", Model: "claude/default", Directory: t.TempDir()}, func(string, event.Body) {})
		require.NoError(t, err)
		assert.Equal(t, want, sources)
	}
}
