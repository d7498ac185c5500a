package ui_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
)

func numbers(u *screen, run string) (list []float64) {
	for _, f := range u.raw() {
		p, _ := f["params"].(document)
		e, _ := p["event"].(document)
		if f["method"] == "agent.event" && p["run_id"] == run && e["type"] == "tool_call" {
			list = append(list, p["seq"].(float64))
		}
	}
	return list
}

func TestTheNumbersOfARunWhoseBeginningIsNotKeptAreThoseThatItHadLive(t *testing.T) {
	inTimeOf(t, copilot.Options{RecordBudget: 8 << 10}, func(p *portal) {
		p.agents.Script = func(t *copilottest.Turn) {
			for i := range 40 {
				t.Call("bash", `{}`, fmt.Sprint(i))
				t.Wait(time.Second)
			}
		}
		u, v := p.able(), p.able()
		run, session := u.run("go")
		time.Sleep(time.Hour)
		live := numbers(u, run)
		require.Len(t, live, 40)
		v.ask("session.history", document{"session_id": session})
		told := numbers(v, run)
		require.NotEmpty(t, told)
		assert.Equal(t, live[len(live)-len(told):], told)
	})
}
