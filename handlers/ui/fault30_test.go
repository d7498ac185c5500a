package ui_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestARunOfLongAgoIsStillKnownToHaveEnded(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) { t.Say(strings.Repeat("word ", 180)) }
		u := p.able()
		run, _ := u.run("a")
		for range 32 {
			synctest.Wait()
			u.run("b")
		}
		synctest.Wait()
		assert.Equal(t, document{"ok": false, "status": "completed"}, u.ask("run.cancel", document{"run_id": run}))
	})
}
