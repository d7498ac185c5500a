package ui_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

func TestRunIsCancelled(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u := p.Able()
		run, _ := u.Prompt("work")
		u.Heard()
		assert.Equal(t, document{"ok": true, "status": "running"}, u.Ask("run.cancel", document{"run_id": run}))
		assert.Equal(t, []string{"ok", "status cancelled"}, u.Heard())
		for range 2 {
			assert.Equal(t, document{"ok": false, "status": "cancelled"}, u.Ask("run.cancel", document{"run_id": run}))
		}
		v := p.Able()
		assert.Equal(t, document{"ok": false, "status": "cancelled"}, v.Ask("run.cancel", document{"run_id": run}), "by another")
	})
}

func TestCancelWithdrawsQuestions(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		u := p.Able()
		run, _ := u.Prompt("work")
		u.Heard()
		u.Ask("run.cancel", document{"run_id": run})
		assert.Equal(t, []string{"ok", "2 tool_result bash the call was cut off with its run", "3 step_complete error", "status cancelled"}, u.Heard())
		u.Frame(document{"jsonrpc": "2.0", "id": u.Asked("ui.confirm.request"), "result": document{"ok": true}})
		assert.Empty(t, u.Heard(), "a late answer is ignored")
	})
}

func TestSessionHasOneRunAtATime(t *testing.T) {
	inTime(t, func(p *portal) {
		next := make(chan struct{})
		p.Agents.Script = func(t *fake.Turn) {
			<-next
			t.Say(t.Prompt)
		}
		u, v := p.Able(), p.Able()
		_, session := u.Prompt("a")
		start := func(u *screen, text, when string) document {
			return u.Ask("run.start", document{
				"session_id": session, "input": document{"type": "text", "text": text}, "portal": document{"when_busy": when},
			})
		}
		assert.Equal(t, -32001, start(u, "b", "")["code"])
		assert.Equal(t, -32001, start(v, "b", "refuse")["code"])
		queued := start(v, "c", "queue")
		require.NotEmpty(t, queued["run_id"], "%v", queued)
		v.Heard()
		close(next)
		assert.Equal(t, []string{"0 final a", "status completed", "status running", "0 final c", "status completed"}, v.Heard())
		assert.Equal(t, -32602, start(u, "b", "perhaps")["code"])
	})
}

func TestResponsePrecedesEventsOfItsRun(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		for i := range 500 {
			u.Say("run.start", document{"input": document{"type": "text", "text": fmt.Sprint(i)}})
			got := u.Heard()
			require.Equal(t, []string{"ok", "status running", fmt.Sprint("0 final ", i), "status completed"}, got)
		}
	})
}

func TestRunsCanFollowAtOnce(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		u.Prompt("a")
		for f := u.Raw(); ; f = u.Raw() { // as soon as the terminal status is there
			if uitest.Line(f[len(f)-1]) == "status completed" {
				break
			}
		}
		run, _ := u.Prompt("b")
		assert.NotEmpty(t, run)
	})
}

func TestUnavailableAgentFailsTheRun(t *testing.T) {
	inTime(t, func(p *portal) {
		broken := true
		p.Agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Launch && broken {
				return fault.Errorf(fault.Unavailable, "there is no CLI: install it")
			}
			return nil
		}
		u := p.Able()
		u.Say("run.start", document{"input": document{"type": "text", "text": "a"}})
		assert.Equal(t, []string{"ok", "status running", "status error the agent did not start: there is no CLI: install it"}, u.Heard())
		broken = false
		u.Say("run.start", document{"input": document{"type": "text", "text": "b"}})
		assert.Contains(t, strings.Join(u.Heard(), "\n"), "0 final b", "the session goes on")
	})
}

func TestHeadlessPolicyAnswersForUIThatCannotAsk(t *testing.T) {
	const denied = "2 tool_result bash Permission denied: This UI cannot ask, and permissions.headless does not allow it."
	for name, want := range map[string]string{"": denied, "deny": denied, "allow": "2 tool_result bash a.go"} {
		t.Run("headless: "+name, func(t *testing.T) {
			inTimeWith(t, ui.Options{Headless: permission.Decision(name)}, func(p *portal) {
				p.Agents.Script = command
				u := p.Open()
				u.Prompt("work")
				got := u.Heard()
				assert.Contains(t, got, want)
				assert.Equal(t, "status completed", got[len(got)-1])
			})
		})
	}
}

func TestHeadlessAskLeavesQuestionToOthers(t *testing.T) {
	inTimeWith(t, ui.Options{Headless: permission.Ask}, func(p *portal) {
		p.Agents.Script = command
		u, v := p.Open(), p.Able()
		_, session := u.Prompt("work")
		v.Ask("portal.session.attach", document{"session_id": session})
		u.Heard()
		v.Reply("ui.confirm.request", document{"ok": true})
		assert.Contains(t, u.Heard(), "2 tool_result bash a.go")
	})
}

func TestSteeringPromptIsSentToOtherUIs(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u, v := p.Able(), p.Able()
		run, session := u.Prompt("work")
		v.Ask("portal.session.attach", document{"session_id": session})
		u.Heard()
		v.Heard()
		r := v.Ask("run.start", document{
			"session_id": session, "input": document{"type": "text", "text": "faster"}, "portal": document{"when_busy": "steer"},
		})
		assert.Equal(t, run, r["run_id"])
		assert.Equal(t, []string{"-1 hidden_user_message faster"}, u.Heard())
		assert.Equal(t, []string{"ok"}, v.Heard())
	})
}

func TestFirstAnswerWins(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		u, v := p.Able(), p.Able("supports_deltas")
		_, session := u.Prompt("work")
		v.Ask("portal.session.attach", document{"session_id": session})
		u.Reply("ui.confirm.request", document{"ok": true})
		v.Frame(document{"jsonrpc": "2.0", "id": v.Asked("ui.confirm.request"), "result": document{"ok": false}})
		got := v.Heard()
		assert.Contains(t, got, "1 question_answered answered")
		assert.Contains(t, got, "2 tool_result bash a.go")
	})
}

func TestUIThatNeverAnswersBlocksNothing(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		u := p.Able()
		run, _ := u.Prompt("work")
		time.Sleep(24 * time.Hour)
		u.Heard()
		assert.Contains(t, u.Ask("model.list", document{}), "models")
		assert.Equal(t, true, u.Ask("run.cancel", document{"run_id": run})["ok"])
		assert.Contains(t, u.Heard(), "status cancelled")
	})
}

func TestRunSurvivesItsConnection(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		u := p.Able()
		_, session := u.Prompt("work")
		close(u.In)
		synctest.Wait()
		require.NoError(t, <-u.Done)
		v := p.Able()
		v.Ask("portal.session.attach", document{"session_id": session})
		v.Reply("ui.confirm.request", document{"ok": true})
		assert.Contains(t, v.Heard(), "status completed")
	})
}
