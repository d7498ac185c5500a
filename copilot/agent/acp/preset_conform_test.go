//go:build presets

package acp_test

import (
	"testing"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/acp/foreign"
	"github.com/copilot-portal/portal/copilot/agent/agenttest"
	"github.com/copilot-portal/portal/copilot/demo"
)

// TestPresetsConform checks the known agents whose programs make presets downloads.
func TestPresetsConform(t *testing.T) {
	for name, c := range map[string]struct {
		set          func(testing.TB, string, string) foreign.Program
		model, other string
		can          []agent.Capability
	}{
		"claude": {foreign.Claude, "default", "haiku", claudeCan()},
		"codex":  {foreign.Codex, demo.ModelID, foreign.Second, codexCan()},
		"gemini": {foreign.Gemini, "default", "other", geminiCan()},
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.Run(t, agenttest.Subject{
				Machine: func(t *testing.T) agenttest.Machine {
					t.Helper()
					return machine(t, name, c.set)
				},
				Write: agenttest.DemoPrompt, Model: name + "/" + c.model, Other: name + "/" + c.other, Can: c.can,
			})
		})
	}
}
