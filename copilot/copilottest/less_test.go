package copilottest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agenttest"
)

// TestAnAgentThatCanDoLessConforms shows that the suite has a place for agents
// without the abilities of the real one, and holds them to refusing what they
// cannot do.
func TestAnAgentThatCanDoLessConforms(t *testing.T) {
	m := &model{}
	agenttest.Run(t, agenttest.Subject{
		Machine: func(t *testing.T) agenttest.Machine {
			t.Helper()
			machine := m.machine(t)
			launch := machine.Launch
			machine.Launch = func(ctx context.Context) (copilot.Agent, error) {
				a, err := launch(ctx)
				return &lesser{a}, err
			}
			return machine
		},
		Virtual: true,
		Write:   m.write,
		Model:   "model-a",
		Other:   "model-b",
		Can:     []agenttest.Ability{agenttest.Permissions},
	})
}

var errCannot = errors.New("this agent cannot do that")

// lesser is an agent that answers prompts and asks for permissions.
type lesser struct{ copilot.Agent }

func (l *lesser) Open(ctx context.Context, o copilot.Opening, sink copilot.Sink) (copilot.Conversation, error) {
	if len(o.Tools) > 0 {
		return nil, errCannot
	}
	resume, pending := o.Resume, o.Pending
	o.Resume, o.AskUser, o.Pending = false, false, nil
	c, err := l.Agent.Open(ctx, o, func(agent string, b copilot.Body) {
		switch b.(type) {
		case copilot.UsageChanged, copilot.ModelCalled, copilot.ReasoningStarted, copilot.ReasoningDelta, copilot.ReasoningEnded:
		default:
			sink(agent, b)
		}
	})
	if err != nil {
		return nil, err
	}
	if resume {
		sink("", copilot.SessionFailed{Kind: copilot.Unavailable, Text: "this agent remembers nothing"})
	}
	for _, q := range pending {
		sink("", copilot.QuestionAnswered{ID: q.ID, Ending: copilot.Withdrawn})
	}
	if len(pending) > 0 {
		sink("", copilot.Idle{Aborted: true})
	}
	return &lesserTalk{c}, nil
}

func (l *lesser) Fork(context.Context, string) (string, error) { return "", errCannot }

func (l *lesser) Forget(context.Context, string) error { return errCannot }

type lesserTalk struct{ copilot.Conversation }

func (l *lesserTalk) Send(ctx context.Context, p copilot.Prompt) error {
	if p.Steer || p.Attachments != nil || p.Mode != "" && p.Mode != copilot.ModeInteractive {
		return errCannot
	}
	return l.Conversation.Send(ctx, p)
}

func (l *lesserTalk) SetModel(context.Context, string) error { return errCannot }

func (l *lesserTalk) Compact(context.Context) error { return errCannot }
