package ui_test

import (
	"context"
	"testing"

	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestManyRequestsThatWaitDoNotKeepTheUIFromCancelling(t *testing.T) {
	inTime(t, func(p *portal) {
		hangs := false
		p.agents.Before = func(ctx context.Context, c copilottest.Call) error {
			if hangs && c.Method == copilottest.Models {
				return copilottest.Hang(ctx)
			}
			return nil
		}
		p.agents.Script = func(t *copilottest.Turn) { t.AwaitAbort() }
		u := p.able()
		run, _ := u.run("long")
		hangs = true
		for range 40 {
			u.say("model.list", document{})
		}
		u.ask("run.cancel", document{"run_id": run})
	})
}
