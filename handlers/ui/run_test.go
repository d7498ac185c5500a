package ui_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// command asks for a permission around a tool call, as the real agent does.
func command(t *fake.Turn) {
	t.Emit(event.ToolStarted{ID: "c1", Name: "bash", Arguments: []byte(`{"command":"ls"}`)})
	a, ok := t.Ask(event.Question{ID: "q1", Kind: event.AskPermission, Call: "c1", Names: []string{permission.Exec}, Title: "List files", Detail: "ls"})
	switch {
	case !ok:
		return
	case a.Approved:
		t.Emit(event.ToolEnded{ID: "c1", Result: &event.ToolResult{Content: "a.go"}})
	default:
		t.Emit(event.ToolEnded{ID: "c1", Error: &event.ToolError{Text: "denied"}})
	}
	t.Say("It is done.")
}

func TestRunEventsKeepTheirOrder(t *testing.T) {
	type script = func(*fake.Turn)
	for name, test := range map[string]struct {
		script script
		does   func(u *screen)
		want   []string
	}{
		"a plain answer is final alone": {
			script: func(t *fake.Turn) { t.Say("Hello") },
			want:   []string{"ok", "status running", "0 final Hello", "status completed"},
		},
		"a thought that comes behind its answer is told before it": {
			script: func(t *fake.Turn) {
				t.Emit(event.MessageEnded{ID: "m", Text: "Hello"}, event.ReasoningEnded{ID: "r", Text: "Hm"})
			},
			want: []string{"ok", "status running", "0 reasoning Hm", "1 final Hello", "status completed"},
		},
		"a block before a tool is text": {
			script: func(t *fake.Turn) {
				t.Emit(event.MessageEnded{ID: "m", Text: "I look"})
				t.Emit(event.ToolStarted{ID: "c", Name: "bash"}, event.ToolEnded{ID: "c", Result: &event.ToolResult{Content: "x"}})
				t.Emit(event.MessageEnded{ID: "n", Text: "Done"})
			},
			want: []string{
				"ok", "status running", "0 text I look", "1 step_start 1 bash", "2 tool_call bash", "3 tool_result bash x",
				"4 step_complete completed", "5 final Done", "status completed",
			},
		},
		"a tool waits for its approval": {
			script: command,
			does:   func(u *screen) { u.Reply("ui.confirm.request", document{"ok": true}) },
			want: []string{
				"ok", "status running", "0 step_start 1 bash", "1 tool_call bash", "status awaiting_ui List files",
				"ui.confirm.request List files ls", "status running", "2 tool_result bash a.go", "3 step_complete completed",
				"4 final It is done.", "status completed",
			},
		},
		"a refusal is the result, and the run goes on": {
			script: command,
			does:   func(u *screen) { u.Reply("ui.confirm.request", document{"ok": false, "reason": "not now"}) },
			want: []string{
				"ok", "status running", "0 step_start 1 bash", "1 tool_call bash", "status awaiting_ui List files",
				"ui.confirm.request List files ls", "status running", "2 tool_result bash Permission denied: not now",
				"3 step_complete error", "4 final It is done.", "status completed",
			},
		},
		"a reason that is null is none": {
			script: command,
			does:   func(u *screen) { u.Reply("ui.confirm.request", document{"ok": false, "reason": nil, "remember": nil}) },
			want: []string{
				"ok", "status running", "0 step_start 1 bash", "1 tool_call bash", "status awaiting_ui List files",
				"ui.confirm.request List files ls", "status running", "2 tool_result bash Permission denied",
				"3 step_complete error", "4 final It is done.", "status completed",
			},
		},
		"an answer without text is an empty final": {
			script: func(*fake.Turn) {},
			want:   []string{"ok", "status running", "0 final", "status completed"},
		},
		"a failure ends in an error": {
			script: func(t *fake.Turn) { t.Emit(event.SessionError{Kind: fault.Unavailable, Text: "no model"}) },
			want:   []string{"ok", "status running", "status error no model"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				p.Agents.Script = test.script
				u := p.Able()
				u.Say("run.start", document{"input": document{"type": "text", "text": "go"}})
				if test.does != nil {
					test.does(u)
				}
				assert.Equal(t, test.want, u.Heard())
			})
		})
	}
}
