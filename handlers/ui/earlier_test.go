package ui_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestWhatWasBeforeAPastIsToldPageByPage(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) {
			for i := range 4 {
				id := fmt.Sprint(i)
				t.Emit(copilot.ToolStarted{ID: id, Name: "bash"}, copilot.ToolEnded{ID: id, Result: &copilot.ToolResult{Content: t.Prompt}})
			}
			t.Say(t.Prompt)
		}
		u := p.able()
		_, session := u.run("a")
		for _, text := range []string{"b", "c"} {
			synctest.Wait()
			u.run(text)
		}
		all := p.able("supports_deltas")
		whole := all.ask("portal.session.attach", document{"session_id": session})
		assert.NotContains(t, whole, "earlier", "this is all")
		want := all.heard()

		for size := 1; size < 20; size++ {
			v := p.able("supports_deltas")
			page := v.ask("portal.session.attach", document{"session_id": session, "max_events": size})
			told := v.heard()
			for page["earlier"] != nil {
				require.Equal(t, true, page["truncated"])
				page = v.ask("portal.session.earlier", document{"session_id": session, "before": page["earlier"], "max_events": size})
				messages, _ := page["messages"].([]any)
				require.NotEmpty(t, messages)
				told = slices.Concat(lines(messages), told)
				v.heard()
			}
			assert.Equal(t, want, told, "pages of %d events", size)
		}
	})
}

func lines(messages []any) (list []string) {
	for _, m := range messages {
		m, _ := m.(document)
		list = append(list, line(m))
	}
	return list
}

func TestTheEarlierPastHasHTMLForWhoShowsIt(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) { t.Say("**" + t.Prompt + "**") }
		u := p.able("supports_deltas", "supports_html")
		_, session := u.run("a")
		synctest.Wait()
		u.run("b")
		v := p.able("supports_deltas", "supports_html")
		page := v.ask("portal.session.attach", document{"session_id": session, "max_runs": 1})
		page = v.ask("portal.session.earlier", document{"session_id": session, "before": page["earlier"]})
		assert.Contains(t, fmt.Sprint(page["messages"]), "<strong>a</strong>")
		assert.NotContains(t, fmt.Sprint(page["messages"]), "<strong>b</strong>")
		assert.NotContains(t, page, "truncated")
	})
}

func TestWhatIsNoPlaceHasNoEarlierPast(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) { t.Say("hello") }
		u := p.able()
		_, session := u.run("a")
		synctest.Wait()
		for _, params := range []document{{}, {"before": "nonsense"}, {"before": "1-1.0", "session_id": "unknown"}} {
			if params["session_id"] == nil {
				params["session_id"] = session
			}
			assert.Contains(t, u.ask("portal.session.earlier", params), "code")
		}
	})
}
