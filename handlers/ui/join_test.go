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
		p.Agents.Script = func(t *fake.Turn) { t.Say(t.Prompt) }
		w, u := p.Able(), p.Able()
		_, session := w.Prompt("a")
		u.Ask("portal.session.attach", document{"session_id": session})
		cursor := ""
		for _, f := range u.Raw() {
			if params, _ := f["params"].(document); params["meta"] != nil {
				cursor, _ = params["meta"].(document)["cursor"].(string)
			}
		}
		close(u.In)
		w.Prompt("missed")
		synctest.Wait()
		v := p.Able()
		v.Ask("run.start", document{"session_id": session, "input": text("c")})
		v.Ask("portal.session.attach", document{"session_id": session, "after": cursor})
		assert.Contains(t, v.Heard(), "0 final missed")
	})
}

func TestSteeringUIIsAskedToo(t *testing.T) {
	for _, busy := range []string{"queue", "steer"} {
		t.Run(busy, func(t *testing.T) {
			inTime(t, func(p *portal) {
				p.Agents.Script = command
				u := p.Able()
				_, session := u.Prompt("x")
				synctest.Wait()
				close(u.In) // who began it has gone
				synctest.Wait()
				v := p.Able()
				r := v.Ask("run.start", document{"session_id": session, "input": text("y"), "portal": document{"when_busy": busy}})
				require.Contains(t, r, "run_id")
				assert.Contains(t, strings.Join(v.Heard(), "\n"), "ui.confirm.request")
			})
		})
	}
}

func TestLateSteeringPromptStartsRunOfItsUI(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Send && c.Prompt == "late" {
				<-time.After(time.Second) // the agent is idle meanwhile
			}
			return nil
		}
		p.Agents.Script = func(t *fake.Turn) {
			t.Wait(time.Millisecond)
			if t.Prompt == "late" {
				command(t)
			}
		}
		u := p.Open() // one that cannot ask
		u.Prompt("a")
		u.Say("run.start", document{"input": text("late"), "portal": document{"when_busy": "steer"}})
		time.Sleep(time.Minute)
		got := u.Heard()
		assert.NotContains(t, got, "-1 hidden_user_message late", "it sent that itself")
		assert.Equal(t, "status completed", got[len(got)-1], "the headless permission decides: %q", got)
	})
}
