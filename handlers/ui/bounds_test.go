package ui_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

func TestHistoryEndsThoughItsLastEntryIsDropped(t *testing.T) {
	record := journal.New(journal.Options[event.Event]{Group: func(e event.Event) (string, bool) {
		_, end := e.Body.(event.MessageEnded)
		return "m", end
	}})
	for range 3 {
		_, err := record.Append(event.Event{Run: "r", Body: event.MessageDelta{ID: "m", Text: "x"}})
		require.NoError(t, err)
	}
	last := record.Last() // a history looks here how far it has to go, while the model speaks
	_, err := record.Append(event.Event{Run: "r", Body: event.MessageEnded{ID: "m", Text: "xxx"}})
	require.NoError(t, err)
	record.Trim(record.Last()) // as the budget does at once
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { done <- ui.ReadUpTo(ctx, record, last) }()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(2 * time.Minute):
		require.Fail(t, "it reads the same entry again and again, and does not heed the end of its context")
	}
}

func TestAttachWithoutHistoryGetsOpenBlocks(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			t.Say(strings.Repeat("word ", 5000))
			command(t)
		}
		u, v := p.Able(), p.Able()
		_, session := u.Prompt("go")
		v.Ask("portal.session.attach", document{"session_id": session, "max_runs": 0})
		assert.Contains(t, v.Heard(), "ui.confirm.request List files ls")
	})
}

func TestEventsBetweenRunsBelongToNoRun(t *testing.T) {
	for name, bodies := range map[string][]event.Body{
		"a tool":     {event.ToolStarted{ID: "late", Name: "bash"}, event.ToolEnded{ID: "late", Result: &event.ToolResult{Content: "x"}}},
		"a thought":  {event.ReasoningEnded{ID: "late", Text: "Hm"}},
		"a question": {event.QuestionAsked{Question: event.Question{ID: "late", Kind: event.AskPermission, Names: []string{permission.Exec}, Title: "ls"}}},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				u := p.Able()
				run, session := u.Prompt("a")
				require.Contains(t, u.Heard(), "status completed")
				p.Agents.Emit(session, bodies...)
				for _, f := range u.Raw() {
					params, _ := f["params"].(document)
					if f["method"] == "agent.event" || f["method"] == "run.status" {
						assert.NotEqual(t, run, params["run_id"], "%s behind its terminal status", uitest.Line(f))
					}
				}
			})
		})
	}
}
