package ui_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestAnAttachDuringWhichARunBeginsTellsTheEndOfThatOnce(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) {
			if t.Prompt == "a" {
				flood(t, "a")
			}
		}
		u := p.able()
		_, session := u.run("a")
		synctest.Wait()
		v, stop, read := p.lazy()
		stop()
		v.say("portal.session.attach", document{"session_id": session})
		synctest.Wait()
		v.say("run.start", document{"session_id": session, "input": text("b")})
		synctest.Wait()
		read()
		ended := map[any]int{}
		for _, f := range v.raw() {
			if params, _ := f["params"].(document); f["method"] == "run.status" && params["status"] == "completed" {
				ended[params["run_id"]]++
			}
		}
		require.Len(t, ended, 2)
		for _, n := range ended {
			assert.Equal(t, 1, n)
		}
	})
}
