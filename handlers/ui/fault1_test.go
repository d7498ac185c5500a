package ui_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestAHistoryThatASlowUIAsksForDoesNotSwallowTheEndOfItsRun(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) { flood(t, "a") }
		u, stop, read := p.lazy()
		_, session := u.run("warm up")
		synctest.Wait()
		u.heard()
		stop()
		u.say("run.start", document{"session_id": session, "input": text("go")})
		synctest.Wait() // the run is over, its events wait for the UI
		u.say("session.history", document{"session_id": session})
		synctest.Wait()
		read()
		got := brief(u.heard())
		assert.Equal(t, 1, count(got, "status completed"), "%s", strings.Join(got, "\n"))
	})
}
