package ui_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestWhoAttachesBehindACursorGetsWhatWasMissedAlsoAfterARunStart(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) { t.Say(t.Prompt) }
		w, u := p.able(), p.able()
		_, session := w.run("a")
		u.ask("portal.session.attach", document{"session_id": session})
		cursor := ""
		for _, f := range u.raw() {
			if params, _ := f["params"].(document); params["meta"] != nil {
				cursor, _ = params["meta"].(document)["cursor"].(string)
			}
		}
		close(u.in)
		w.run("missed")
		synctest.Wait()
		v := p.able()
		v.ask("run.start", document{"session_id": session, "input": text("c")})
		v.ask("portal.session.attach", document{"session_id": session, "after": cursor})
		assert.Contains(t, v.heard(), "0 final missed")
	})
}

func TestWhoSteersARunThatAsksIsAskedToo(t *testing.T) {
	for _, busy := range []string{"queue", "steer"} {
		t.Run(busy, func(t *testing.T) {
			inTime(t, func(p *portal) {
				p.agents.Script = command
				u := p.able()
				_, session := u.run("x")
				synctest.Wait()
				close(u.in) // who began it has gone
				synctest.Wait()
				v := p.able()
				r := v.ask("run.start", document{"session_id": session, "input": text("y"), "portal": document{"when_busy": busy}})
				require.Contains(t, r, "run_id")
				assert.Contains(t, strings.Join(v.heard(), "\n"), "ui.confirm.request")
			})
		})
	}
}
