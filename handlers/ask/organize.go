package ask

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
)

// planEvent prints plans, compactions and errors.
func (t *text) planEvent(b event.Body) error {
	switch b := b.(type) {
	case event.PlanChanged:
		return t.plan(b.Todos)
	case event.CompactionStarted:
		return t.note("compacting the conversation")
	case event.CompactionEnded:
		if b.Error != "" {
			return t.note("compaction failed: %s", oneLine(b.Error))
		}
		return t.note("compacted: %d tokens are now %d", b.Before, b.After)
	case event.SessionError:
		return t.failed(b)
	case event.QuestionAsked, event.QuestionClosed: // the asker shows them
	case event.SessionOpened, event.SessionClosed, event.ModelChanged, event.TitleChanged, event.PolicyChanged, event.UsageChanged,
		event.ModelCalled, event.ServerChanged, event.Notice, event.RunStarted, event.RunEnded, event.UserMessage, event.QueueChanged,
		event.TurnStarted, event.TurnEnded, event.ReasoningStarted, event.ReasoningDelta, event.ReasoningEnded, event.MessageStarted,
		event.ToolOutput, event.FilesRestored: // ignored
	}
	return nil
}

func (t *text) failed(b event.SessionError) error {
	if err := t.note("error: %s", oneLine(b.Text)); err != nil || b.Hint == "" {
		return err
	}
	return t.note("%s", strings.Join(strings.Fields(b.Hint), " "))
}

// plan prints the to-dos if they have changed. The text of a plan
// comes with the question about it.
func (t *text) plan(todos []event.Todo) error {
	var list strings.Builder
	for _, todo := range todos {
		_, _ = fmt.Fprintf(&list, "\n  %s %s", mark(todo.State), oneLine(todo.Title)) // a strings.Builder never fails
	}
	if list.String() == t.todos {
		return nil
	}
	t.todos = list.String()
	return t.note("to do:%s", t.todos)
}

func mark(s event.TodoState) string {
	switch s {
	case event.TodoCompleted:
		return "✓"
	case event.TodoRunning:
		return "▸"
	case event.TodoPending:
	}
	return "○"
}

func (t *text) begin(b event.SubagentStarted) error {
	t.agents[b.ID] = oneLine(cmp.Or(b.Title, b.Name, "agent"))
	return t.note("sub-agent %s started", t.agents[b.ID])
}

func (t *text) end(b event.SubagentEnded) error {
	name := cmp.Or(t.agents[b.ID], "agent")
	delete(t.agents, b.ID)
	how := string(b.Outcome)
	if b.Error != "" {
		how += ": " + oneLine(b.Error)
	}
	return t.note("sub-agent %s %s (%v, %d tool calls)", name, how, b.Duration.Round(time.Second/10), b.ToolCalls)
}
