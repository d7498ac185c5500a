package ui_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

func TestRunningCallStaysWithItsUI(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			_, _ = t.Ask(event.Question{Kind: event.AskTool, Call: "c", Tool: "count", Arguments: []byte(`{}`)})
		}
		tools := []document{{"name": "count", "parameters": document{"type": "object"}}}
		u, v := p.Able(), p.Able()
		r := u.Ask("run.start", document{"input": text("x"), "tools": tools})
		require.Contains(t, u.Heard(), "client.tool.call count")
		v.Ask("run.start", document{"session_id": r["session_id"], "input": text("y"), "tools": tools, "portal": document{"when_busy": "queue"}})
		v.Ask("portal.session.attach", document{"session_id": r["session_id"]})
		assert.NotContains(t, v.Heard(), "client.tool.call count", "both carry it out")
	})
}

func TestUnreadableToolResultIsFailure(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			_, _ = t.Ask(event.Question{Kind: event.AskTool, Call: "c", Tool: "count", Arguments: []byte(`{}`)})
		}
		u := p.Able()
		u.Ask("run.start", document{"input": text("x"), "tools": []document{{"name": "count", "parameters": document{"type": "object"}}}})
		u.MaySendInvalid()
		u.Reply("client.tool.call", "4 files")
		assert.Contains(t, u.Heard(), "status completed", "nobody else can do it, and the UI has said what it has to say")
	})
}
