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
)

func TestRunIsCancelled(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u := p.able()
		run, _ := u.run("work")
		u.heard()
		assert.Equal(t, document{"ok": true, "status": "running"}, u.ask("run.cancel", document{"run_id": run}))
		assert.Equal(t, []string{"ok", "status cancelled"}, u.heard())
		for range 2 {
			assert.Equal(t, document{"ok": false, "status": "cancelled"}, u.ask("run.cancel", document{"run_id": run}))
		}
		v := p.able()
		assert.Equal(t, document{"ok": false, "status": "cancelled"}, v.ask("run.cancel", document{"run_id": run}), "by another")
	})
}

func TestCancelWithdrawsQuestions(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = command
		u := p.able()
		run, _ := u.run("work")
		u.heard()
		u.ask("run.cancel", document{"run_id": run})
		assert.Equal(t, []string{"ok", "2 tool_result bash the call was cut off with its run", "3 step_complete error", "status cancelled"}, u.heard())
		u.frame(document{"jsonrpc": "2.0", "id": u.asked["ui.confirm.request"], "result": document{"ok": true}})
		assert.Empty(t, u.heard(), "a late answer is ignored")
	})
}

func TestSessionHasOneRunAtATime(t *testing.T) {
	inTime(t, func(p *portal) {
		next := make(chan struct{})
		p.agents.Script = func(t *fake.Turn) {
			<-next
			t.Say(t.Prompt)
		}
		u, v := p.able(), p.able()
		_, session := u.run("a")
		start := func(u *screen, text, when string) document {
			return u.ask("run.start", document{
				"session_id": session, "input": document{"type": "text", "text": text}, "portal": document{"when_busy": when},
			})
		}
		assert.Equal(t, -32001, start(u, "b", "")["code"])
		assert.Equal(t, -32001, start(v, "b", "refuse")["code"])
		queued := start(v, "c", "queue")
		require.NotEmpty(t, queued["run_id"], "%v", queued)
		v.heard()
		close(next)
		assert.Equal(t, []string{"0 final a", "status completed", "status running", "0 final c", "status completed"}, v.heard())
		assert.Equal(t, -32602, start(u, "b", "perhaps")["code"])
	})
}

func TestResponseComesBeforeAnyEventOfItsRun(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		for i := range 500 {
			u.say("run.start", document{"input": document{"type": "text", "text": fmt.Sprint(i)}})
			got := u.heard()
			require.Equal(t, []string{"ok", "status running", fmt.Sprint("0 final ", i), "status completed"}, got)
		}
	})
}

func TestTwoRunsWithoutAPause(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		u.run("a")
		for f := u.raw(); ; f = u.raw() { // as soon as the terminal status is there
			if line(f[len(f)-1]) == "status completed" {
				break
			}
		}
		run, _ := u.run("b")
		assert.NotEmpty(t, run)
	})
}

func TestUnavailableAgentFailsTheRun(t *testing.T) {
	inTime(t, func(p *portal) {
		broken := true
		p.agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Launch && broken {
				return fault.Errorf(fault.Unavailable, "there is no CLI: install it")
			}
			return nil
		}
		u := p.able()
		u.say("run.start", document{"input": document{"type": "text", "text": "a"}})
		assert.Equal(t, []string{"ok", "status running", "status error the agent did not start: there is no CLI: install it"}, u.heard())
		broken = false
		u.say("run.start", document{"input": document{"type": "text", "text": "b"}})
		assert.Contains(t, strings.Join(u.heard(), "\n"), "0 final b", "the session goes on")
	})
}

func TestUIThatCannotAskIsDecidedFor(t *testing.T) {
	const denied = "2 tool_result bash Permission denied: This UI cannot ask, and permissions.headless does not allow it."
	for name, want := range map[string]string{"": denied, "deny": denied, "allow": "2 tool_result bash a.go"} {
		t.Run("headless: "+name, func(t *testing.T) {
			inTimeWith(t, ui.Options{Headless: permission.Decision(name)}, func(p *portal) {
				p.agents.Script = command
				u := p.open()
				u.run("work")
				got := u.heard()
				assert.Contains(t, got, want)
				assert.Equal(t, "status completed", got[len(got)-1])
			})
		})
	}
}

func TestHeadlessAskLeavesQuestionToOthers(t *testing.T) {
	inTimeWith(t, ui.Options{Headless: permission.Ask}, func(p *portal) {
		p.agents.Script = command
		u, v := p.open(), p.able()
		_, session := u.run("work")
		v.ask("portal.session.attach", document{"session_id": session})
		u.heard()
		v.reply("ui.confirm.request", document{"ok": true})
		assert.Contains(t, u.heard(), "2 tool_result bash a.go")
	})
}

func TestSteeringPromptIsSentToOtherUIs(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u, v := p.able(), p.able()
		run, session := u.run("work")
		v.ask("portal.session.attach", document{"session_id": session})
		u.heard()
		v.heard()
		r := v.ask("run.start", document{
			"session_id": session, "input": document{"type": "text", "text": "faster"}, "portal": document{"when_busy": "steer"},
		})
		assert.Equal(t, run, r["run_id"])
		assert.Equal(t, []string{"-1 hidden_user_message faster"}, u.heard())
		assert.Equal(t, []string{"ok"}, v.heard())
	})
}

func TestFirstAnswerWins(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = command
		u, v := p.able(), p.able("supports_deltas")
		_, session := u.run("work")
		v.ask("portal.session.attach", document{"session_id": session})
		u.reply("ui.confirm.request", document{"ok": true})
		v.frame(document{"jsonrpc": "2.0", "id": v.asked["ui.confirm.request"], "result": document{"ok": false}})
		got := v.heard()
		assert.Contains(t, got, "1 question_answered answered")
		assert.Contains(t, got, "2 tool_result bash a.go")
	})
}

func TestUIThatNeverAnswersHoldsNothingUp(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = command
		u := p.able()
		run, _ := u.run("work")
		time.Sleep(24 * time.Hour)
		u.heard()
		assert.Contains(t, u.ask("model.list", document{}), "models")
		assert.Equal(t, true, u.ask("run.cancel", document{"run_id": run})["ok"])
		assert.Contains(t, u.heard(), "status cancelled")
	})
}

func TestConnectionThatEndsLeavesTheRunGoing(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = command
		u := p.able()
		_, session := u.run("work")
		close(u.in)
		synctest.Wait()
		require.NoError(t, <-u.done)
		v := p.able()
		v.ask("portal.session.attach", document{"session_id": session})
		v.reply("ui.confirm.request", document{"ok": true})
		assert.Contains(t, v.heard(), "status completed")
	})
}
