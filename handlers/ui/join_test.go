package ui_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestAttachAtCursorReplaysAfterRunStart(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { t.Say(t.Prompt) }
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

func TestSteeringUIIsAskedToo(t *testing.T) {
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

func TestPromptThatSteersTooLateBeginsARunOfTheUIThatSentIt(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Send && c.Prompt == "late" {
				<-time.After(time.Second) // the agent is idle meanwhile
			}
			return nil
		}
		p.agents.Script = func(t *fake.Turn) {
			t.Wait(time.Millisecond)
			if t.Prompt == "late" {
				command(t)
			}
		}
		u := p.open() // one that cannot ask
		u.run("a")
		u.say("run.start", document{"input": text("late"), "portal": document{"when_busy": "steer"}})
		time.Sleep(time.Minute)
		got := u.heard()
		assert.NotContains(t, got, "-1 hidden_user_message late", "it sent that itself")
		assert.Equal(t, "status completed", got[len(got)-1], "the headless permission decides: %q", got)
	})
}
