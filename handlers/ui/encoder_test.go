package ui_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// told returns the newest members of events of a type, and forgets them.
func told(u *screen, kind, member string) (list []any) {
	u.Helper()
	for _, f := range u.Raw() {
		p, _ := f["params"].(document)
		if e, _ := p["event"].(document); e["type"] == kind {
			list = append(list, e[member])
		}
	}
	u.Heard()
	return list
}

// attached is the session that portal.session.attach answers with.
func attached(u *screen, session string) document {
	u.Helper()
	s, _ := u.Ask("portal.session.attach", document{"session_id": session})["session"].(document)
	u.Heard()
	return s
}

func TestEffectivePermissionsAreSent(t *testing.T) {
	inTimeOf(t, copilot.Options{Policy: permission.Policy{"git.push": permission.Deny}}, func(p *portal) {
		s := p.Begun()
		u, plain := p.Able("supports_deltas"), p.Able()
		assert.Equal(t, document{"git.push": "deny"}, attached(u, s.ID())["permissions"])
		attached(plain, s.ID())
		plain.Ask("portal.session.permit", document{"session_id": s.ID(), "permissions": document{"fs.write": "allow"}})
		want := document{"git.push": "deny", "fs.write": "allow"}
		assert.Equal(t, []any{want}, told(u, "permissions", "rules"))
		assert.Empty(t, told(plain, "permissions", "rules"), "who takes no deltas is not told")
		assert.Equal(t, want, attached(p.Able("supports_deltas"), s.ID())["permissions"])
	})
}

func TestQueuedPromptsAreSentToAllUIs(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		s := p.Begun()
		u, other := p.Able("supports_deltas"), p.Able("supports_deltas")
		assert.Equal(t, []any{}, attached(u, s.ID())["waiting"])
		_, err := s.Prompt(event.Prompt{Text: "a"})
		require.NoError(t, err)
		run, err := s.Prompt(event.Prompt{Text: "b\nand more", By: "rest"})
		require.NoError(t, err)
		waits := []any{document{"run_id": run, "text": "b and more", "by": "rest"}}
		assert.Equal(t, []any{waits}, told(u, "queue", "waiting"))
		assert.Equal(t, waits, attached(other, s.ID())["waiting"])

		mine := other.Ask("run.start", document{
			"session_id": s.ID(), "input": document{"type": "text", "text": "c"}, "portal": document{"when_busy": "queue"},
		})["run_id"]
		queued := document{"run_id": mine, "text": "c", "by": "ui"}
		assert.Equal(t, []any{append(waits, queued)}, told(u, "queue", "waiting"))
		u.Ask("run.cancel", document{"run_id": run})
		synctest.Wait()
		assert.Equal(t, []any{[]any{queued}}, told(u, "queue", "waiting"))
		assert.Contains(t, told(other, "queue", "waiting"), []any{queued})
	})
}

func TestRestoredFilesAreReported(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			t.Emit(event.FilesRestored{ID: "r", Kind: event.RestoreUndo, Target: "run", Undoes: "q", Paths: []string{"a\a"}, Files: 30, By: "rpc"})
		}
		u := p.Able("supports_deltas")
		u.Prompt("a")
		assert.Equal(t, []any{[]any{"a"}}, told(u, "files_restored", "paths"), "without control sequences")
	})
}

func TestTextsOfEventsHaveNoControlCharacters(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			t.Emit(
				event.SessionError{Kind: fault.Invalid, Text: "a\x1b[2J", Hint: "b\a"},
				event.ServerChanged{Server: event.Server{Name: "c\a", State: event.ServerFailed, Error: "d\x1b[2J"}},
				event.ToolStarted{ID: "t", Name: "e\a"},
				event.SubagentStarted{ID: "s", Call: "t", Name: "f\a", Title: "g\a"},
				event.SubagentEnded{ID: "s", Outcome: event.Failed, Error: "h\a"},
			)
			t.Ask(event.Question{ID: "q", Kind: event.AskPermission, Title: "Write", Names: []string{permission.Write}, Call: "t"})
			t.Emit(event.ToolEnded{ID: "t", Error: &event.ToolError{Text: "no"}})
		}
		u := p.Able("supports_deltas")
		_, session := u.Prompt("a")
		synctest.Wait()
		s, err := p.Host.Session(t.Context(), session)
		require.NoError(t, err)
		require.NoError(t, s.Answer("q", event.Answer{Reason: "i\a"}, "rest"))
		synctest.Wait()
		members := map[string][]string{
			"error": {"message", "hint"}, "server": {"name", "error"}, "step_start": {"title"}, "subagent_start": {"name", "title"},
			"subagent_end": {"error"}, "question_answered": {"reason"}, "tool_result": {"result"},
		}
		got := map[string][]any{}
		for _, f := range u.Raw() {
			params, _ := f["params"].(document)
			e, _ := params["event"].(document)
			kind, _ := e["type"].(string)
			for _, member := range members[kind] {
				got[kind] = append(got[kind], e[member])
			}
		}
		assert.Equal(t, map[string][]any{
			"error": {"a[2J", "b"}, "server": {"c", "d[2J"}, "step_start": {"e"}, "subagent_start": {"f", "g"},
			"subagent_end": {"h"}, "question_answered": {"i"}, "tool_result": {"Permission denied: i"},
		}, got)
	})
}
