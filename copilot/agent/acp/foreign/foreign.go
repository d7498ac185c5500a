// Package foreign sets up agents that are not ours for tests: real programs, on the scripted model of package demo.
package foreign

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/copilot-portal/portal/copilot/demo"
)

// Second is the id of a model besides [demo.ModelID], which behaves the same.
const Second = "second"

// Program is an agent.
type Program struct {
	Command []string
	Env     []string // "KEY=VALUE", besides the environment
}

// Opencode returns opencode, which make opencode downloads. Its models are those of the provider "portal" at url.
func Opencode(tb testing.TB, url, key string) Program {
	tb.Helper()
	arch := cmp.Or(map[string]string{"amd64": "x64"}[runtime.GOARCH], runtime.GOARCH)
	program := filepath.Join(root(tb), ".tools/opencode/node_modules/opencode-"+runtime.GOOS+"-"+arch+"/bin/opencode")
	if _, err := os.Stat(program); err != nil {
		tb.Fatalf("opencode is missing: run make opencode (make test does it): %v", err)
	}
	models := map[string]any{}
	for _, id := range []string{demo.ModelID, Second} {
		models[id] = map[string]any{"name": id, "limit": map[string]int{"context": 128_000, "output": 16_000}}
	}
	config, err := json.Marshal(map[string]any{
		"model": "portal/" + demo.ModelID, "small_model": "portal/" + demo.ModelID,
		"provider": map[string]any{"portal": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "Portal", "models": models,
			"options": map[string]any{"baseURL": url, "apiKey": key},
		}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return Program{[]string{program, "acp"}, append(home(tb), "OPENCODE_CONFIG_CONTENT="+string(config), "OPENCODE_DISABLE_MODELS_FETCH=1")}
}

// Copilot returns the Copilot CLI as an agent of the protocol, on the model at url.
func Copilot(tb testing.TB, url, key string) Program {
	tb.Helper()
	program := filepath.Join(root(tb), "bin/copilot")
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("copilot"); err != nil {
			tb.Fatalf("the Copilot CLI is missing: run make build (make test does it): %v", err)
		}
	}
	return Program{[]string{program, "--acp"}, append(home(tb),
		"COPILOT_PROVIDER_BASE_URL="+url, "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY="+key,
		"COPILOT_MODEL="+demo.ModelID, "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false")}
}

// Claude returns Claude Code with its adapter, which make presets downloads.
func Claude(tb testing.TB, url, key string) Program {
	tb.Helper()
	return Program{script(tb, "claude-agent-acp"), append(home(tb), "ANTHROPIC_BASE_URL="+gateway(tb, anthropic(), url, key), "ANTHROPIC_API_KEY=demo", "ENABLE_TOOL_SEARCH=false")}
}

// Codex returns Codex with its adapter, which make presets downloads. It uses its models, which it knows only from its configuration.
func Codex(tb testing.TB, url, key string) Program {
	tb.Helper()
	env := home(tb)
	_, dir, _ := strings.Cut(env[0], "=")
	models, catalog := []any{}, filepath.Join(dir, "models.json")
	for _, id := range []string{demo.ModelID, Second} {
		models = append(models, object{
			"slug": id, "display_name": id, "visibility": "list", "supported_in_api": true, "priority": 1, "base_instructions": "x",
			"shell_type": "unified_exec", "supported_reasoning_levels": []any{}, "default_reasoning_summary": "auto", "supports_reasoning_summaries": true,
			"support_verbosity": false, "truncation_policy": object{"mode": "tokens", "limit": 10_000}, "context_window": 128_000,
			"input_modalities": []string{"text", "image"}, "experimental_supported_tools": []any{}, "supports_parallel_tool_calls": false,
		})
	}
	b, err := json.Marshal(object{"models": models})
	if err != nil {
		tb.Fatal(err)
	}
	config := fmt.Sprintf("model = %q\nmodel_catalog_json = %q\nmodel_provider = \"portal\"\n[model_providers.portal]\nname = \"Portal\"\nbase_url = %q\n"+
		"env_key = \"PORTAL_KEY\"\nwire_api = \"responses\"\n", demo.ModelID, catalog, gateway(tb, responses(), url, key)+"/v1")
	if err := errors.Join(os.WriteFile(catalog, b, 0o600), os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600)); err != nil {
		tb.Fatal(err)
	}
	// It sandboxes commands only if its home is not in the directory for temporary files.
	return Program{script(tb, "codex-acp"), append(env, "CODEX_HOME="+dir, "PORTAL_KEY=demo", "TMPDIR="+filepath.Join(dir, "tmp"))}
}

// Gemini returns Gemini CLI, which make presets downloads.
func Gemini(tb testing.TB, url, key string) Program {
	tb.Helper()
	return Program{append(script(tb, "gemini"), "--acp"), append(home(tb), "GOOGLE_GEMINI_BASE_URL="+gateway(tb, gemini(), url, key), "GEMINI_API_KEY=demo", "GEMINI_MODEL=gemini-2.5-pro")}
}

// script returns the command of a program that make presets downloads, which needs a newer Node.js than most systems have.
func script(tb testing.TB, name string) []string {
	tb.Helper()
	program := filepath.Join(root(tb), ".tools/presets/node_modules/.bin", name)
	if _, err := os.Stat(program); err != nil {
		tb.Fatalf("%s is missing: run make presets: %v", name, err)
	}
	return []string{filepath.Join(root(tb), ".tools/inspector/node/node_modules/node/bin/node"), program}
}

// home returns the variables of an own home, in which the Copilot CLI finds what it has unpacked.
func home(tb testing.TB) []string {
	tb.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	return []string{
		"HOME=" + dir, "COPILOT_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_STATE_HOME=" + dir, "XDG_CACHE_HOME=" + cache,
	}
}

// root returns the directory of the module.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("the test does not run inside the module")
		}
		dir = filepath.Dir(dir)
	}
}
