package ui_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestARunThatWaitsCanBeCancelledByAUIThatReconnects(t *testing.T) {
	inTime(t, func(p *portal) {
		next := make(chan struct{})
		defer close(next)
		p.agents.Script = func(*copilottest.Turn) { <-next }
		u := p.able()
		_, session := u.run("a")
		r := u.ask("run.start", document{"session_id": session, "input": text("b"), "portal": document{"when_busy": "queue"}})
		require.NotEmpty(t, r["run_id"])
		close(u.in)
		v := p.able()
		v.ask("portal.session.attach", document{"session_id": session})
		assert.Equal(t, true, v.ask("run.cancel", document{"run_id": r["run_id"]})["ok"])
	})
}
