package ui_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestEarlierPagesHaveHTML(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { t.Say("**" + t.Prompt + "**") }
		u := p.Able("supports_deltas", "supports_html")
		_, session := u.Prompt("a")
		synctest.Wait()
		u.Prompt("b")
		v := p.Able("supports_deltas", "supports_html")
		page := v.Ask("portal.session.attach", document{"session_id": session, "max_runs": 1})
		page = v.Ask("portal.session.earlier", document{"session_id": session, "before": page["earlier"]})
		assert.Contains(t, fmt.Sprint(page["messages"]), "<strong>a</strong>")
		assert.NotContains(t, fmt.Sprint(page["messages"]), "<strong>b</strong>")
		assert.NotContains(t, page, "truncated")
	})
}

func TestInvalidCursorHasNoEarlierPage(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { t.Say("hello") }
		u := p.Able()
		_, session := u.Prompt("a")
		synctest.Wait()
		for _, params := range []document{{}, {"before": "nonsense"}, {"before": "1-1.0", "session_id": "unknown"}} {
			if params["session_id"] == nil {
				params["session_id"] = session
			}
			assert.Contains(t, u.Ask("portal.session.earlier", params), "code")
		}
	})
}
