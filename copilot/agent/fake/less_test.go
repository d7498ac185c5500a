package fake_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/agenttest"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// TestAgentWithFewerCapabilitiesConforms shows that the suite accepts agents without some capabilities of the real one,
// and requires them to refuse what they cannot do.
func TestAgentWithFewerCapabilitiesConforms(t *testing.T) {
	m := &model{}
	agenttest.Run(t, agenttest.Subject{
		Machine: func(t *testing.T) agenttest.Machine {
			t.Helper()
			machine := m.machine(t)
			launch := machine.Launch
			machine.Launch = func(ctx context.Context) (agent.Agent, error) {
				a, err := launch(ctx)
				return &limitedAgent{a}, err
			}
			return machine
		},
		Virtual: true,
		Write:   m.write,
		Model:   "model-a",
		Other:   "model-b",
		Can:     []agent.Capability{agent.Permissions, agent.Reasons, agent.Failures},
	})
}

var errCannot = errors.New("this agent cannot do that")

// limitedAgent is an agent that answers prompts and asks for permissions.
type limitedAgent struct{ agent.Agent }

func (l *limitedAgent) Open(ctx context.Context, o agent.Opening, sink agent.Sink) (agent.Conversation, error) {
	if len(o.Tools) > 0 {
		return nil, errCannot
	}
	resume, pending := o.Resume, o.Pending
	servers := o.Servers
	o.Resume, o.AskUser, o.Pending, o.Servers = false, false, nil, nil
	c, err := l.Agent.Open(ctx, o, func(agent string, b event.Body) {
		switch b.(type) {
		case event.UsageChanged, event.ModelCalled, event.ReasoningStarted, event.ReasoningDelta, event.ReasoningEnded:
		default:
			sink(agent, b)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(servers) > 0 {
		sink("", event.SessionError{Kind: fault.Invalid, Text: "this agent starts no servers"})
	}
	if resume {
		sink("", event.SessionError{Kind: fault.Unavailable, Text: "this agent saves nothing"})
	}
	for _, q := range pending {
		sink("", event.QuestionClosed{ID: q.ID, Ending: event.Withdrawn})
	}
	if len(pending) > 0 {
		sink("", event.Idle{Aborted: true})
	}
	return &limitedConversation{c}, nil
}

func (l *limitedAgent) Fork(context.Context, string, time.Time) (string, error) { return "", errCannot }

func (l *limitedAgent) Forget(context.Context, string) error { return errCannot }

type limitedConversation struct{ agent.Conversation }

func (l *limitedConversation) Send(ctx context.Context, p event.Prompt) error {
	if p.Steer || p.Attachments != nil || p.Mode != "" && p.Mode != event.ModeInteractive {
		return errCannot
	}
	return l.Conversation.Send(ctx, p)
}

func (l *limitedConversation) SetModel(context.Context, string) error { return errCannot }

func (l *limitedConversation) Compact(context.Context) error { return errCannot }
