package sdk_test

import (
	"encoding/json"
	"fmt"
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
		Write:   keywords,
		Model:   demo.ModelID,
		Other:   "other/second",
		OwnTool: "bash",
		Mode:    modeIn,
		Can:     sdk.Capabilities(),
	})
}

// machine returns a home of the real CLI with two scripted models.
func machine(t *testing.T) agenttest.Machine {
	t.Helper()
	o := options(t)
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

// keywords returns scenes in the language of the scripted model.
func keywords(scenes ...agenttest.Scene) string {
	words := make([]string, len(scenes))
	for i, s := range scenes {
		words[i] = keyword(s)
	}
	return strings.Join(words, ", then ")
}

func keyword(s agenttest.Scene) string {
	switch s := s.(type) {
	case agenttest.Say:
		return "say `" + s.Text + "`"
	case agenttest.Think:
		return "think"
	case agenttest.Stream:
		return fmt.Sprintf("%d tokens in %d ms", s.Chunks, s.Over.Milliseconds())
	case agenttest.Wait:
		return fmt.Sprintf("wait %d ms", s.For.Milliseconds())
	case agenttest.Shell:
		return "run `" + s.Command + "`"
	case agenttest.Ask:
		return "ask `" + s.Question + "`" + choices(s.Choices)
	case agenttest.Call:
		return "call `" + event.Tool{Name: s.Tool}.Alias() + "` `" + s.Arguments + "`"
	case agenttest.Plan:
		return "plan `" + strings.Join(s.Todos, "` `") + "`"
	case agenttest.Propose:
		return toolCall("exit_plan_mode", map[string]any{
			"summary": s.Plan, "actions": []string{"interactive", "autopilot"}, "recommendedAction": "interactive",
		})
	case agenttest.Fail:
		return "fail"
	case agenttest.Recall:
		return "recall"
	case agenttest.Show:
		return "show request"
	case agenttest.Delegate:
		return toolCall("task", map[string]any{
			"agent_type": "general-purpose", "name": "helper", "description": "x", "mode": "sync",
			"prompt": keyword(agenttest.Say(s)),
		})
	}
	panic(fmt.Sprintf("no keyword for %T", s))
}

func choices(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " choices `" + strings.Join(list, "` `") + "`"
}

func toolCall(tool string, arguments map[string]any) string {
	b, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return "call `" + tool + "` ``" + string(b) + "``"
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
