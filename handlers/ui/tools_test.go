package ui_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

func TestCallThatOneUICarriesOutIsNotGivenToTheNextOneThatDeclaresTools(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) {
			_, _ = t.Ask(event.Question{Kind: event.AskTool, Call: "c", Tool: "count", Arguments: []byte(`{}`)})
		}
		tools := []document{{"name": "count", "parameters": document{"type": "object"}}}
		u, v := p.able(), p.able()
		r := u.ask("run.start", document{"input": text("x"), "tools": tools})
		require.Contains(t, u.heard(), "client.tool.call count")
		v.ask("run.start", document{"session_id": r["session_id"], "input": text("y"), "tools": tools, "portal": document{"when_busy": "queue"}})
		v.ask("portal.session.attach", document{"session_id": r["session_id"]})
		assert.NotContains(t, v.heard(), "client.tool.call count", "both carry it out")
	})
}

func TestToolWhoseResultCannotBeReadHasFailed(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) {
			_, _ = t.Ask(event.Question{Kind: event.AskTool, Call: "c", Tool: "count", Arguments: []byte(`{}`)})
		}
		u := p.able()
		u.ask("run.start", document{"input": text("x"), "tools": []document{{"name": "count", "parameters": document{"type": "object"}}}})
		u.reply("client.tool.call", "4 files")
		assert.Contains(t, u.heard(), "status completed", "nobody else can do it, and the UI has said what it has to say")
	})
}
