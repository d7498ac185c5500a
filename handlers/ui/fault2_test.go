package ui_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestAQuestionThatIsOverIsNotPutBehindTheEndOfItsRun(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) {
			flood(t, "a")
			command(t)
		}
		u := p.able()
		_, session := u.run("go")
		v, stop, read := p.lazy()
		u.reply("ui.confirm.request", document{"ok": true})
		v.ask("portal.session.attach", document{"session_id": session})
		v.heard()
		stop()
		u.ask("run.start", document{"session_id": session, "input": text("again")})
		synctest.Wait()
		u.reply("ui.confirm.request", document{"ok": true})
		synctest.Wait()
		read()
		got := brief(v.heard())
		end := -1
		for i, l := range got {
			if l == "status completed" {
				end = i
			}
		}
		require.GreaterOrEqual(t, end, 0)
		assert.Empty(t, got[end+1:])
		assert.NotContains(t, got, "ui.confirm.request List files ls", "it was over before it could be put")
	})
}
