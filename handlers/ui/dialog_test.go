package ui_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

func TestAnswerToEarlierConnectionIsIgnored(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			t.Ask(event.Question{ID: "q1", Kind: event.AskPermission, Names: []string{permission.Exec}, Title: "ls"})
			a, _ := t.Ask(event.Question{ID: "q2", Kind: event.AskPermission, Names: []string{permission.Exec}, Title: "rm -rf"})
			if a.Approved {
				t.Say("all is gone")
			}
		}
		u := p.Able()
		_, session := u.Prompt("go")
		u.Reply("ui.confirm.request", document{"ok": true}) // ui_1: the connection breaks before the UI knows that it arrived
		close(u.In)
		v := p.Able()
		v.Ask("portal.session.attach", document{"session_id": session})
		synctest.Wait()
		v.Frame(document{"jsonrpc": "2.0", "id": "ui_1", "result": document{"ok": true}}) // once more
		assert.NotContains(t, v.Heard(), "0 final all is gone", "the user has not seen rm -rf yet")
	})
}

func TestOpenDialogSurvivesHistory(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		u := p.Able()
		_, session := u.Prompt("work")
		u.Ask("session.history", document{"session_id": session})
		u.Frame(document{"jsonrpc": "2.0", "id": u.Asked("ui.confirm.request"), "result": document{"ok": true}}) // the dialog that the user sees
		assert.Contains(t, u.Heard(), "2 tool_result bash a.go")
	})
}

func TestRepeatedInvalidFormIsDeclined(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = asks(event.Question{Kind: event.AskForm, Form: form()})
		u := p.Able("supports_forms")
		u.Prompt("go")
		u.Reply("portal.form.request", document{"ok": true, "fields": document{"name": "n", "size": "many", "kind": "a"}})
		time.Sleep(time.Hour)
		got := u.Heard()
		again := strings.Count(strings.Join(got, "\n"), "portal.form.request") > 1
		assert.True(t, again || budget(got, "status completed") == 1, "neither asked again nor decided: %q", got)
	})
}

func TestDialogSurvivesEveryAttach(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		u := p.Able()
		_, session := u.Prompt("work")
		u.Heard()
		for range 30 {
			u.Say("portal.session.attach", document{"session_id": session})
			require.NotContains(t, u.Heard(), "ui.confirm.request List files ls", "the dialog is open already")
		}
		u.Reply("ui.confirm.request", document{"ok": true})
		require.Contains(t, u.Heard(), "2 tool_result bash a.go")
	})
}

func TestApprovalTextHasNoControlCharacters(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			t.Emit(event.ToolStarted{ID: "c", Name: "bash"})
			t.Ask(event.Question{
				Kind: event.AskPermission, Call: "c", Names: []string{permission.Exec},
				Title: "Run\x1b[2J", Detail: "echo safe\rrm -rf ~\u202e",
			})
			t.Emit(event.ToolEnded{ID: "c", Result: &event.ToolResult{Content: "\x1b[31mred\x1b[0m\x1b]0;evil\x07"}})
		}
		u := p.Able()
		u.Prompt("go")
		u.Reply("ui.confirm.request", document{"ok": true})
		got := u.Heard()
		assert.Contains(t, got, "ui.confirm.request Run[2J echo saferm -rf ~")
		assert.Contains(t, got, "2 tool_result bash \x1b[31mred\x1b[0m]0;evil")
	})
}
