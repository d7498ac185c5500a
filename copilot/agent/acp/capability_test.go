package acp_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/ndjson"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
)

// meanings explains each capability to people.
func meanings() map[agent.Capability]string {
	return map[agent.Capability]string{
		agent.Permissions: "asks before it acts", agent.Reasoning: "shows the model's thoughts", agent.Questions: "the model asks the user",
		agent.ClientTools: "tools of clients", agent.Servers: "MCP servers of clients", agent.Todos: "to-dos", agent.Modes: "modes plan and autopilot",
		agent.Approval: "plans wait for approval", agent.Attachments: "files, texts and images", agent.Steering: "prompts into a run",
		agent.Resuming: "conversations survive restarts", agent.Switching: "change of the model", agent.Compaction: "compaction",
		agent.Subagents: "sub-agents", agent.Usage: "tokens are counted", agent.Context: "shows how full the context window is",
		agent.Reasons: "the model reads why it was refused", agent.Failures: "errors of the model are errors, not text",
		agent.Continuing: "open questions survive restarts", agent.Forking: "forks", agent.Forgetting: "deletes its copy with the session",
		agent.Asking: "titles and commit messages by the model", agent.Storing: "stores MCP servers and skills",
	}
}

// TestCapabilitiesOfAgentsAreDocumented compares the table with the capabilities that the conformance tests check.
func TestCapabilitiesOfAgentsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../spec/agents.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "compares from here -->\n\n")
	require.True(t, ok)
	table, _, ok := strings.Cut(rest, "\n<!-- to here -->")
	require.True(t, ok)
	assert.Equal(t, capabilityTable(t), table, "replace the table")
}

func capabilityTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| | Copilot CLI | `claude` | `codex` | `copilot-acp` | `gemini` | `opencode` | Copilot CLI Protocol |\n|---|---|---|---|---|---|---|---|\n")
	agents := [][]agent.Capability{sdk.New(sdk.Options{}).Capabilities(), claudeCan(), codexCan(), copilotCan(), geminiCan(), opencodeCan(), ndjson.New(ndjson.Options{Command: []string{"none"}}).Capabilities()}
	known := meanings()
	for _, c := range agent.Capabilities() {
		require.NotEmpty(t, known[c], c)
		b.WriteString("| " + known[c])
		for _, can := range agents {
			mark := " | –"
			if slices.Contains(can, c) {
				mark = " | yes"
			}
			b.WriteString(mark)
		}
		b.WriteString(" |\n")
	}
	return b.String()
}
