package ui_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestADialogThatIsOpenCanBeAnsweredAfterAHistory(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = command
		u := p.able()
		_, session := u.run("work")
		u.ask("session.history", document{"session_id": session})
		u.frame(document{"jsonrpc": "2.0", "id": "ui_1", "result": document{"ok": true}}) // the dialog that the user sees
		assert.Contains(t, u.heard(), "2 tool_result bash a.go")
	})
}
