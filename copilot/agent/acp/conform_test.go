package acp_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/acp"
	"github.com/copilot-portal/portal/copilot/agent/agenttest"
	"github.com/copilot-portal/portal/copilot/demo"
)

// TestOpencodeConforms checks a program that the portal knows only through the protocol, with its preset.
func TestOpencodeConforms(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, agenttest.Subject{
		Machine: func(t *testing.T) agenttest.Machine {
			t.Helper()
			return machine(opencode(t))
		},
		Write: agenttest.DemoPrompt,
		Model: "opencode/portal/" + demo.ModelID,
		Other: "opencode/portal/second",
		Can: []agent.Capability{
			agent.Permissions, agent.Reasoning, agent.Attachments, agent.Resuming, agent.Servers, agent.Switching, agent.Context, agent.Failures,
		},
	})
}

// TestCopilotConforms checks the Copilot CLI as an agent of the protocol.
func TestCopilotConforms(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, agenttest.Subject{
		Machine: func(t *testing.T) agenttest.Machine {
			t.Helper()
			return machine(copilotCLI(t))
		},
		Write: agenttest.DemoPrompt,
		Model: "copilot-acp/default",
		Other: "copilot-acp/other",
		Can: []agent.Capability{
			agent.Permissions, agent.Reasoning, agent.Attachments, agent.Resuming, agent.Servers, agent.Context,
		},
	})
}

func machine(o acp.Options) agenttest.Machine {
	return agenttest.Machine{Launch: acp.New(o).Launch, Kill: acp.Kill}
}

// opencode returns opencode on the scripted model.
func opencode(t *testing.T) acp.Options {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	program, err := filepath.Abs("../../../.tools/opencode/node_modules/opencode-" + runtime.GOOS + "-" + arch + "/bin/opencode")
	require.NoError(t, err)
	require.FileExists(t, program, "run make opencode (make test does it)")
	url, key := model(t)
	models := map[string]any{}
	for _, id := range []string{demo.ModelID, "second"} {
		models[id] = map[string]any{"name": id, "limit": map[string]int{"context": 128_000, "output": 16_000}, "attachment": true}
	}
	config, err := json.Marshal(map[string]any{
		"model": "portal/" + demo.ModelID, "small_model": "portal/" + demo.ModelID, "autoupdate": false,
		"provider": map[string]any{"portal": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "Portal", "models": models,
			"options": map[string]any{"baseURL": url, "apiKey": key},
		}},
	})
	require.NoError(t, err)
	env := append(environ(t), "OPENCODE_CONFIG_CONTENT="+string(config), "OPENCODE_DISABLE_MODELS_FETCH=1")
	return options(t, "opencode", env, program, "acp")
}

// copilotCLI returns the Copilot CLI on the scripted model.
func copilotCLI(t *testing.T) acp.Options {
	t.Helper()
	program, err := filepath.Abs("../../../bin/copilot")
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		program, err = exec.LookPath("copilot")
		require.NoError(t, err, "the Copilot CLI is missing: run make build (make test does it)")
	}
	url, key := model(t)
	env := append(environ(t), "COPILOT_PROVIDER_BASE_URL="+url, "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY="+key,
		"COPILOT_MODEL="+demo.ModelID, "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false")
	return options(t, "copilot-acp", env, program, "--acp")
}

// model starts the scripted model.
func model(t *testing.T) (url, key string) {
	t.Helper()
	s, err := demo.Start()
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s.URL(), s.Key()
}

func options(t *testing.T, name string, env []string, command ...string) acp.Options {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("ACP_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return acp.Options{Name: name, Command: command, Env: env, Saved: t.TempDir(), Log: log}
}

// environ returns the environment of an agent with its own home, in which the Copilot CLI finds what it has unpacked.
func environ(t *testing.T) []string {
	t.Helper()
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "COPILOT_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "XDG_STATE_HOME="+home)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	return append(env, "XDG_CACHE_HOME="+cache)
}
