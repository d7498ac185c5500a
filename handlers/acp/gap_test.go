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

func TestQuestionAskedInAGapIsShown(t *testing.T) {
	for name, open := range map[string]string{
		"to an editor that is slow": "", "to an editor that loads the session": "session/load", "to an editor that resumes the session": "session/resume",
	} {
		t.Run(name, func(t *testing.T) {
			late := make(chan struct{})
			script := func(t *fake.Turn) {
				flood(t)
				go func() { <-late; flood(t) }()
				t.Ask(event.Question{ID: "q", Kind: event.AskPermission, Title: "Run", Detail: "token=ghp_0123456789abcdefghijABCDEFGHIJ012345", Names: []string{permission.Exec}})
			}
			serveWith(t, copilot.Options{RecordBudget: 1 << 20}, script, func(t *fixture) {
				late = make(chan struct{})
				e := t.connect(nil, acp.Client{})
				e.answer = func(context.Context, string, document) (any, error) {
					return document{"outcome": document{"outcome": "selected", "optionId": "allow"}}, nil
				}
				id := e.start()
				s, err := t.host.Session(t.Context(), id)
				require.NoError(t, err)
				if open != "" {
					e.call("session/close", document{"sessionId": id})
				}
				e.busy <- struct{}{}
				_, err = s.Prompt(event.Prompt{Text: "go"})
				require.NoError(t, err)
				synctest.Wait()
				close(late)
				synctest.Wait()
				<-e.busy
				if open != "" {
					e.call(open, document{"sessionId": id, "cwd": "/", "mcpServers": []any{}})
				}
				require.NotEmpty(t, e.seen("available_commands_update"))
				assert.Len(t, e.asked, 1)
				assert.NotContains(t, fmt.Sprint(e.asked), "ghp_0123", "credentials are masked")
				assert.Equal(t, copilot.StateIdle, s.Info().State)
				e.leave()
			})
		})
	}
}
