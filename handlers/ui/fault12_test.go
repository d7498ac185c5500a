package ui_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestARunThatEndedInAGapHasATerminalStatus(t *testing.T) {
	inTimeOf(t, copilot.Options{RecordBudget: 1 << 20}, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) { flood(t, t.Prompt) }
		u, stop, read := p.lazy()
		first, session := u.run("a")
		synctest.Wait()
		u.heard()
		stop()
		w := p.able()
		u.say("run.start", document{"session_id": session, "input": text("b")})
		synctest.Wait()
		w.ask("run.start", document{"session_id": session, "input": text("c")})
		synctest.Wait()
		read()
		begun, ended := map[any]int{}, map[any]int{}
		for _, f := range u.raw() {
			if params, _ := f["params"].(document); f["method"] == "run.status" {
				switch params["status"] {
				case "running":
					begun[params["run_id"]]++
				default:
					ended[params["run_id"]]++
				}
			}
		}
		assert.NotContains(t, begun, first)
		for run := range begun {
			assert.Equal(t, 1, ended[run], "the UI shows a run that never ends")
		}
	})
}
