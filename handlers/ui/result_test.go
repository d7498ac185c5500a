package ui_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

func TestFailedCommandIsErrorWithOutput(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			t.Emit(event.ToolStarted{ID: "t", Name: "bash"}, event.ToolEnded{
				ID: "t", Result: &event.ToolResult{Content: "oh no"}, Error: &event.ToolError{Text: "exit code 3", Code: event.CodeExit},
			})
		}
		u := p.Able()
		u.Prompt("go")
		got := u.Raw()
		assert.Contains(t, u.Heard(), "3 step_complete error")
		for _, f := range got {
			if params, _ := f["params"].(document); params["event"] != nil && params["event"].(document)["type"] == "tool_result" {
				assert.Equal(t, document{"type": "tool_result", "tool": "bash", "result": "oh no", "tool_call_id": "t", "is_error": true, "code": "exit"}, params["event"])
				return
			}
		}
		assert.Fail(t, "no result was told")
	})
}

func TestCallDurationExcludesPermissionWait(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			t.Emit(event.ToolStarted{ID: "t", Name: "bash"})
			t.Wait(time.Second)
			if _, ok := t.Ask(event.Question{Call: "t", Title: "Run it", Names: []string{permission.Exec}}); !ok {
				return
			}
			t.Wait(2 * time.Second)
			t.Emit(event.ToolEnded{ID: "t", Result: &event.ToolResult{}})
		}
		u := p.Able()
		u.Prompt("go")
		time.Sleep(time.Hour)
		u.Reply("ui.confirm.request", document{"ok": true})
		time.Sleep(time.Minute)
		assert.Equal(t, []any{float64(3000)}, told(u, "step_complete", "duration_ms"))

		run, _ := u.Prompt("again")
		time.Sleep(time.Hour)
		require.Equal(t, true, u.Ask("run.cancel", document{"run_id": run})["ok"])
		synctest.Wait()
		assert.Equal(t, []any{float64(1000)}, told(u, "step_complete", "duration_ms"), "also if it was cut off while it waited")
	})
}
