package ui_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestAnAnswerToARequestOfAnEarlierConnectionAnswersNoOtherQuestion(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) {
			t.Ask(copilot.Question{ID: "q1", Kind: copilot.AskPermission, Names: []string{copilot.PermExec}, Title: "ls"})
			a, _ := t.Ask(copilot.Question{ID: "q2", Kind: copilot.AskPermission, Names: []string{copilot.PermExec}, Title: "rm -rf"})
			if a.Approved {
				t.Say("all is gone")
			}
		}
		u := p.able()
		_, session := u.run("go")
		u.reply("ui.confirm.request", document{"ok": true}) // ui_1: the connection breaks before the UI knows that it arrived
		close(u.in)
		v := p.able()
		v.ask("portal.session.attach", document{"session_id": session})
		synctest.Wait()
		v.frame(document{"jsonrpc": "2.0", "id": "ui_1", "result": document{"ok": true}}) // once more
		assert.NotContains(t, v.heard(), "0 final all is gone", "the user has not seen rm -rf yet")
	})
}
