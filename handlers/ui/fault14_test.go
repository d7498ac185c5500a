package ui_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestAnAttachForNoRunsKnowsWhatGoesOn(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) {
			t.Say(strings.Repeat("word ", 5000))
			command(t)
		}
		u, v := p.able(), p.able()
		_, session := u.run("go")
		v.ask("portal.session.attach", document{"session_id": session, "max_runs": 0})
		assert.Contains(t, v.heard(), "ui.confirm.request List files ls")
	})
}
