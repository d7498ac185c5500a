package ui_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestARunWhoseMiddleIsInAGapHasOneTerminalStatus(t *testing.T) {
	inTimeOf(t, copilot.Options{RecordBudget: 1 << 20}, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) { flood(t, "a"); flood(t, "b") }
		w := p.able()
		_, session := w.run("warm up")
		synctest.Wait()
		u, stop, read := p.lazy()
		u.ask("portal.session.attach", document{"session_id": session, "max_events": 0})
		u.heard()
		stop()
		w.run("go")
		synctest.Wait()
		read()
		got := brief(u.heard())
		assert.Equal(t, "status completed", got[len(got)-1])
		ended := 0
		for _, l := range got {
			if l == "status completed" || strings.HasPrefix(l, "status error") {
				ended++
			}
		}
		assert.Equal(t, 1, ended, "%s", strings.Join(got, "\n"))
	})
}
