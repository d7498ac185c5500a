package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

func TestAgentsAreParsed(t *testing.T) {
	c, err := load(t, `
agents:
  - {name: mine, command: "my agent", args: [--acp], env: [KEY=Value, empty=], auth: key}
  - {name: other-2, command: other, protocol: cli}
`, nil)
	require.NoError(t, err)
	assert.Equal(t, []server.Agent{
		{Name: "mine", Command: "my agent", Args: []string{"--acp"}, Env: []string{"KEY=Value", "empty="}, Auth: "key", Protocol: "acp"},
		{Name: "other-2", Command: "other", Protocol: "cli"},
	}, c.Agents)
}

func TestWrongAgentsAreRejectedByName(t *testing.T) {
	for name, tc := range map[string]struct {
		yaml string
		want []string
	}{
		"no name":                {"agents: [{command: a}]", []string{`agents[0].name: "" must have lower-case letters`}},
		"a name with a slash":    {"agents: [{name: a/b, command: a}]", []string{`agents[0].name: "a/b"`}},
		"capital letters":        {"agents: [{name: Mine, command: a}]", []string{`agents[0].name: "Mine"`}},
		"the name of the first":  {"agents: [{name: copilot, command: a}]", []string{`agents[0].name: "copilot" is the name of the first agent`}},
		"a name used twice":      {"agents: [{name: a, command: a}, {name: a, command: b}]", []string{`agents[1].name: "a" is already used`}},
		"the name of a provider": {"{agents: [{name: a, command: a}], providers: [{name: a, base_url: 'http://x'}]}", []string{`agents[0].name: "a" is the name of a provider`}},
		"an unknown program":     {"agents: [{name: nobody-knows}]", []string{`agents[0].command: it is required, because "nobody-knows" is none of the agents that the portal knows`}},
		"an unknown protocol":    {"agents: [{name: a, command: a, protocol: b}]", []string{`agents[0].protocol: "b" is neither acp nor cli`}},
		"a sign-in without ACP":  {"agents: [{name: a, command: a, protocol: cli, auth: b}]", []string{"agents[0].auth: "}},
		"trust in the unknown":   {"agents: [{name: a, command: a, trust_directories: true}, {name: codex, trust_directories: true}]", []string{"agents[0].trust_directories: "}},
		"a wrong variable":       {"agents: [{name: a, command: a, env: [s3cret]}]", []string{"agents[0].env: a variable must be given as NAME=value"}},
		"an unknown key":         {"agents: [{name: a, command: a, comand: a}]", []string{"comand"}},
		"a sandbox":              {"{sandbox: true, agents: [{name: a, command: a}]}", []string{"sandbox: only the Copilot CLI can run in a sandbox; remove agents"}},
		"names without programs": {"agents: nobody-knows,nor-this", []string{"agents[0].command: ", "agents[1].command: "}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tc.yaml, nil)
			require.Error(t, err)
			for _, part := range tc.want {
				require.ErrorContains(t, err, part)
			}
			assert.NotContains(t, err.Error(), "s3cret")
		})
	}
}

func TestKnownAgentsAreNamedInShort(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		env  []string
		args []string
	}{
		"the file":   {yaml: "agents: [nobody-knows, nor-this]"},
		"a variable": {env: []string{"PORTAL_AGENTS=nobody-knows, nor-this"}},
		"a flag":     {args: []string{"--agents", "nobody-knows,nor-this"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.yaml, c.env, c.args...)
			require.ErrorContains(t, err, `"nobody-knows" is none of the agents that the portal knows`)
			require.ErrorContains(t, err, `"nor-this" is none of the agents that the portal knows`)
		})
	}
}

// The second agent is another portal, which runs the real CLI.
func TestSessionRunsOnOtherAgent(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}, Config: fmt.Sprintf(`
agents:
  - {name: second, command: %q, args: [cli, --demo], protocol: cli}
  - {name: absent, command: no-such-program, protocol: cli}
`, portaltest.Binary(t))})
	models, _ := p.API("GET", "copilot/models", "")["models"].([]any)
	var ids []any
	for _, m := range models {
		model, _ := m.(map[string]any)
		ids = append(ids, model["id"])
	}
	assert.Equal(t, []any{"demo", "second/default"}, ids, "the models of an agent that is missing are not listed")
	session := p.API("POST", "copilot/session/start/second/default", t.TempDir()).Text("sessionId")
	require.NotEmpty(t, session)
	assert.Contains(t, portaltest.Answer(p.Run(session, "say `a heron` please")), "heron")
	var health struct {
		Agents []struct{ Name, State string }
	}
	_, text := p.Do("GET", "/health", "")
	require.NoError(t, json.Unmarshal([]byte(text), &health))
	require.Len(t, health.Agents, 2)
	assert.Equal(t, struct{ Name, State string }{"second", "ready"}, health.Agents[0])
	assert.Equal(t, struct{ Name, State string }{"absent", "missing"}, health.Agents[1])
}

func TestModelsOfOtherAgentsAreListed(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
agents:
  - {name: second, command: %q, args: [acp, --demo]}
  - {name: absent, command: no-such-program}
  - {name: wrong, command: cat}
`, portaltest.Binary(t)), 0o600))
	code, stdout, stderr := inPipe(t, "", "models", "--config", config)
	assert.Equal(t, 0, code)
	assert.Equal(t, []string{"demo", "second/demo"}, firstWords(stdout))
	assert.Contains(t, stderr, "portal: agent absent: The program of the agent absent was not found")
	assert.Contains(t, stderr, "portal: agent wrong: The agent wrong did not start")
	assert.NotContains(t, stderr, "level=")
}

func firstWords(table string) (words []string) {
	for line := range strings.Lines(table) {
		words = append(words, strings.Fields(line)[0])
	}
	return words
}

func TestDoctorExaminesOtherAgents(t *testing.T) {
	t.Parallel()
	code, e, _ := examine(t, fmt.Sprintf(`
agents:
  - {name: second, command: %q, args: [cli, --demo], protocol: cli}
  - {name: absent, command: no-such-program, protocol: cli}
`, portaltest.Binary(t)), nil, "--port", "0")
	assert.Equal(t, 0, code, e)
	assert.Contains(t, e.find("agent second"), "ok: version ")
	assert.Regexp(t, "^warning: .*no-such-program", e.find("agent absent"))
	code, e, _ = examine(t, fmt.Sprintf("agents: [{name: second, command: %q, args: [cli, --demo], protocol: cli}]", portaltest.Binary(t)), nil, "--port", "0", "--copilot-path", noAgent)
	assert.Equal(t, 0, code, "one agent is enough")
	assert.Contains(t, e.find("Copilot CLI"), "warning: ")
}
