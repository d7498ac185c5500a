package sdk_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/agenttest"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/event"
)

func TestRealAgentConforms(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, agenttest.Subject{
		Machine: machine,
		Write:   agenttest.DemoPrompt,
		Model:   demo.ModelID,
		Other:   "other/second",
		OwnTool: "bash",
		Mode:    modeIn,
		Can:     agent.Capabilities(),
	})
}

// machine returns a home of the real CLI with two scripted models.
func machine(t *testing.T) agenttest.Machine {
	t.Helper()
	o := options(t)
	o.WithoutAccount = false // otherwise Account asks no process, so it does not fail after its end
	other, err := o.Demo()
	require.NoError(t, err)
	other.Name, other.Models = "other", []string{"second"}
	o.Providers = append(o.Providers, other)
	return agenttest.Machine{
		Launch: sdk.New(o).Launch,
		Kill: func(a agent.Agent) {
			agent, ok := a.(*sdk.Agent)
			assert.True(t, ok)
			assert.NoError(t, syscall.Kill(agent.PID(), syscall.SIGKILL))
		},
	}
}

// modeIn returns the mode from the CLI's notice.
func modeIn(shown string) event.Mode {
	switch {
	case strings.Contains(shown, "\\u003cautopilot_mode\\u003e"), strings.Contains(shown, "<autopilot_mode>"):
		return event.ModeAutopilot
	case strings.Contains(shown, "\\u003cplan_mode\\u003e"), strings.Contains(shown, "<plan_mode>"):
		return event.ModePlan
	}
	return event.ModeInteractive
}
