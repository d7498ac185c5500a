package acp_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/acp"
	"github.com/copilot-portal/portal/copilot/agent/acp/foreign"
	"github.com/copilot-portal/portal/copilot/agent/agenttest"
	"github.com/copilot-portal/portal/copilot/demo"
)

func opencodeCan() []agent.Capability {
	return []agent.Capability{
		agent.Permissions, agent.Reasoning, agent.ClientTools, agent.Attachments, agent.Resuming, agent.Servers, agent.Switching, agent.Context, agent.Failures,
	}
}

func copilotCan() []agent.Capability {
	return []agent.Capability{agent.Permissions, agent.Reasoning, agent.ClientTools, agent.Attachments, agent.Resuming, agent.Servers, agent.Context}
}

func claudeCan() []agent.Capability {
	return []agent.Capability{
		agent.Permissions, agent.Reasoning, agent.ClientTools, agent.Attachments, agent.Resuming, agent.Servers, agent.Switching, agent.Context, agent.Forgetting,
	}
}

func codexCan() []agent.Capability {
	return []agent.Capability{
		agent.Permissions, agent.Reasoning, agent.ClientTools, agent.Attachments, agent.Resuming, agent.Servers, agent.Switching, agent.Context, agent.Forgetting,
	}
}

func geminiCan() []agent.Capability {
	return []agent.Capability{agent.Permissions, agent.Reasoning, agent.ClientTools, agent.Attachments, agent.Servers}
}

// TestOpencodeConforms checks a program that the portal knows only through the protocol, with its preset. On a busy machine, opencode takes
// late cancellations for those of later prompts, or answers none, so the ordinary tests only use it end to end.
func TestOpencodeConforms(t *testing.T) {
	if os.Getenv("PORTAL_SOAK") == "" {
		t.Skip("make endurance runs it, as those of the other agents")
	}
	t.Parallel()
	agenttest.Run(t, agenttest.Subject{
		Machine: func(t *testing.T) agenttest.Machine {
			t.Helper()
			return machine(t, "opencode", foreign.Opencode)
		},
		Write: agenttest.DemoPrompt,
		Model: "opencode/portal/" + demo.ModelID,
		Other: "opencode/portal/" + foreign.Second,
		Can:   opencodeCan(),
	})
}

// TestCopilotConforms checks the Copilot CLI as an agent of the protocol.
func TestCopilotConforms(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, agenttest.Subject{
		Machine: func(t *testing.T) agenttest.Machine {
			t.Helper()
			return machine(t, "copilot-acp", foreign.Copilot)
		},
		Write: agenttest.DemoPrompt,
		Model: "copilot-acp/default",
		Other: "copilot-acp/other",
		Can:   copilotCan(),
	})
}

// machine returns an environment of an agent that is not ours.
func machine(t *testing.T, name string, set func(tb testing.TB, url, key string) foreign.Program) agenttest.Machine {
	t.Helper()
	s, err := demo.Start()
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	program := set(t, s.URL(), s.Key())
	d := acp.New(acp.Options{Name: name, Command: program.Command, Env: append(os.Environ(), program.Env...), Saved: t.TempDir()})
	first, err := d.Launch(t.Context()) // opencode does not start several times at once before it has made its database
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	first.Stop(ctx)
	return agenttest.Machine{Launch: d.Launch, Kill: acp.Kill}
}
