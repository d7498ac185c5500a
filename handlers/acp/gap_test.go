package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/acp"
)

// flood makes more calls than a small record keeps.
func flood(t *fake.Turn) {
	for i := range 5 {
		t.Call("bash", `{}`, fmt.Sprint(i, strings.Repeat("x", 400<<10)))
	}
}

func TestWhatEndsInAGapIsNotLeftOpen(t *testing.T) {
	late := make(chan struct{})
	script := func(t *fake.Turn) {
		if t.Prompt != "first" {
			flood(t)
			t.WaitForAbort()
			return
		}
		t.Emit(event.ToolStarted{ID: "t", Name: "bash", Arguments: json.RawMessage(`{"command": "make"}`)})
		go func() { <-late; flood(t) }()
		t.Ask(event.Question{ID: "q", Kind: event.AskPermission, Title: "Run", Names: []string{permission.Exec}, Call: "t"})
	}
	serveWith(t, copilot.Options{RecordBudget: 1 << 20}, script, func(t *fixture) {
		late = make(chan struct{})
		e := t.connect(nil, acp.Client{})
		e.answer = func(ctx context.Context, _ string, _ document) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
		session := e.start()
		s, err := t.host.Session(t.Context(), session)
		require.NoError(t, err)
		_, err = s.Prompt(event.Prompt{Text: "first"})
		require.NoError(t, err)
		require.Len(t, e.seen("tool_call"), 1)
		require.Len(t, e.asked, 1)

		e.busy <- struct{}{}
		close(late)
		synctest.Wait()
		require.NoError(t, s.Answer("q", event.Answer{Approved: true}, "ui"))
		synctest.Wait()
		second, err := s.Prompt(event.Prompt{Text: "second"})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, second, s.Info().Run)
		<-e.busy

		last := document{}
		for _, u := range e.seen("tool_call_update") {
			if u["toolCallId"] == "t" {
				last = u
			}
		}
		assert.Equal(t, "failed", last["status"], "the call of the first run")
		assert.Equal(t, 1, e.withdrawn, "questions")
		require.NoError(t, s.Cancel(second))
		e.leave()
	})
}
