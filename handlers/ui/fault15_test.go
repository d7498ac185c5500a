package ui_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestAnAgentThatHangsDoesNotKeepTheUIFromCancelling(t *testing.T) {
	inTime(t, func(p *portal) {
		hangs := false
		p.agents.Before = func(ctx context.Context, c copilottest.Call) error {
			if hangs && (c.Method == copilottest.SetModel || c.Method == copilottest.Models) {
				return copilottest.Hang(ctx)
			}
			return nil
		}
		p.agents.Script = func(t *copilottest.Turn) {
			if t.Prompt == "long" {
				t.AwaitAbort()
			}
		}
		u := p.able()
		_, other := u.run("short")
		synctest.Wait()
		u.ask("portal.session.start", document{})
		run, _ := u.run("long")
		synctest.Wait()
		hangs = true
		u.say("model.set", document{"session_id": other, "name": "x"})
		synctest.Wait()
		u.say("run.start", document{"session_id": other, "input": text("x"), "tools": []document{{"name": "count", "parameters": document{"type": "object"}}}})
		cancel := u.say("run.cancel", document{"run_id": run})
		begin := time.Now()
		for isAnswered := false; !isAnswered; {
			require.Zero(t, time.Since(begin), "the run is not cancelled while an agent says nothing about another session")
			for _, f := range u.raw() {
				isAnswered = isAnswered || f["id"] == cancel && f["method"] == nil
			}
			if !isAnswered {
				time.Sleep(time.Second)
			}
		}
	})
}
