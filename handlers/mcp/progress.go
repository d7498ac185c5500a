package mcp

import (
	"context"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/plain"
)

// maxProgress is the maximum length of a text of progress, in bytes.
const maxProgress = 200

// oneLine shortens a text for a notification.
func oneLine(text string) string { return plain.Line(plain.Text(text), maxProgress) }

// progressText describes an event on one line; "" for events that are no progress.
func progressText(b event.Body) string {
	switch b := b.(type) {
	case event.RunStarted:
		return "The agent has started."
	case event.MessageEnded:
		return oneLine(b.Text)
	case event.ToolStarted:
		return oneLine("Calls " + b.Name + " " + string(b.Arguments))
	case event.QuestionAsked:
		return oneLine("Needs an answer: " + b.Question.Subject())
	case event.QuestionClosed:
		return "The question was closed."
	case event.SessionError:
		return oneLine(b.Text)
	case event.RunEnded:
		return "The run has ended: " + string(b.Outcome) + "."
	case event.CompactionStarted:
		return "The agent summarizes the conversation, to make room."
	case event.SubagentStarted:
		return oneLine("Starts a sub-agent: " + b.Title)
	case event.ReasoningStarted, event.ReasoningDelta, event.ReasoningEnded, event.MessageStarted, event.MessageDelta, event.ToolOutput, event.ToolEnded,
		event.TurnStarted, event.TurnEnded, event.UserMessage, event.QueueChanged, event.SubagentEnded, event.PlanChanged, event.CompactionEnded:
	case event.SessionOpened, event.SessionClosed, event.ModelChanged, event.TitleChanged, event.PolicyChanged, event.UsageChanged, event.ModelCalled,
		event.ServerChanged, event.FilesRestored, event.Notice:
	}
	return ""
}

// followWork reports what a job or an operation does, a text for each entry, until it ends, the deadline has passed or the portal
// stops.
func followWork[E any](ctx context.Context, c call, r *follow.Reader[E], d deadline, text func(E) string) error {
	report := progress{call: c}
	r.Idle = d.nextWait
	for b, err := range r.All(ctx) {
		switch {
		case err == nil:
		case isStopping(ctx):
			return nil
		default:
			return err
		}
		for _, e := range b.Entries {
			report.report(ctx, text(e))
		}
		if d.hasPassed() {
			break
		}
		if len(b.Entries) == 0 {
			report.report(ctx, stateWorking)
		}
	}
	return nil
}
