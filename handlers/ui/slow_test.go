package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
)

// flood says more than is kept for a UI that does not read.
func flood(t *fake.Turn, name string) {
	for i := range 5 {
		t.Call("bash", `{}`, fmt.Sprint(name, i, strings.Repeat("x", 400<<10)))
	}
}

func budget(list []string, want string) (n int) {
	for _, l := range list {
		if l == want {
			n++
		}
	}
	return n
}

func brief(list []string) []string {
	out := make([]string, 0, len(list))
	for _, l := range list {
		out = append(out, l[:min(len(l), 60)])
	}
	return out
}

func TestHistoryForSlowUIKeepsRunEnd(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { flood(t, "a") }
		u := p.Able()
		_, session := u.Prompt("warm up")
		synctest.Wait()
		u.Heard()
		u.StopReading()
		u.Say("run.start", document{"session_id": session, "input": text("go")})
		synctest.Wait() // the run is over, its events wait for the UI
		u.Say("session.history", document{"session_id": session})
		synctest.Wait()
		u.ReadAgain()
		got := brief(u.Heard())
		assert.Equal(t, 1, budget(got, "status completed"), "%s", strings.Join(got, "\n"))
	})
}

func TestClosedQuestionIsNotAskedAfterItsRun(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			flood(t, "a")
			command(t)
		}
		u := p.Able()
		_, session := u.Prompt("go")
		v := p.Able()
		u.Reply("ui.confirm.request", document{"ok": true})
		v.Ask("portal.session.attach", document{"session_id": session})
		v.Heard()
		v.StopReading()
		u.Ask("run.start", document{"session_id": session, "input": text("again")})
		synctest.Wait()
		u.Reply("ui.confirm.request", document{"ok": true})
		synctest.Wait()
		v.ReadAgain()
		got := brief(v.Heard())
		end := -1
		for i, l := range got {
			if l == "status completed" {
				end = i
			}
		}
		require.GreaterOrEqual(t, end, 0)
		assert.Empty(t, got[end+1:])
		assert.NotContains(t, got, "ui.confirm.request List files ls", "it was over before it could be put")
	})
}

func TestRunEndedInGapHasTerminalStatus(t *testing.T) {
	inTimeOf(t, copilot.Options{RecordBudget: 1 << 20}, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { flood(t, t.Prompt) }
		u := p.Able()
		first, session := u.Prompt("a")
		synctest.Wait()
		u.Heard()
		u.StopReading()
		w := p.Able()
		u.Say("run.start", document{"session_id": session, "input": text("b")})
		synctest.Wait()
		w.Ask("run.start", document{"session_id": session, "input": text("c")})
		synctest.Wait()
		u.ReadAgain()
		begun, ended := map[any]int{}, map[any]int{}
		for _, f := range u.Raw() {
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

func TestAttachDuringRunStartReportsEndOnce(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			if t.Prompt == "a" {
				flood(t, "a")
			}
		}
		u := p.Able()
		_, session := u.Prompt("a")
		synctest.Wait()
		v := p.Able()
		v.StopReading()
		v.Say("portal.session.attach", document{"session_id": session})
		synctest.Wait()
		v.Say("run.start", document{"session_id": session, "input": text("b")})
		synctest.Wait()
		v.ReadAgain()
		ended := map[any]int{}
		for _, f := range v.Raw() {
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
