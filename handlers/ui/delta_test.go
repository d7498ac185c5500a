package ui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// busy does a little of everything.
func busy(t *fake.Turn) {
	t.Emit(event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: "Hel"}, event.MessageDelta{ID: "m", Text: "lo"})
	t.Emit(event.MessageEnded{ID: "m", Text: "Hello"})
	t.Emit(event.PlanChanged{Text: "all", Todos: []event.Todo{{ID: "1", Title: "One", State: event.TodoRunning}}})
	t.Emit(event.UsageChanged{Used: 25, Limit: 100})
	t.Emit(event.ToolStarted{ID: "c", Name: "edit", Arguments: []byte(`{"path":"a.go"}`)}, event.ToolOutput{ID: "c", Text: "…"})
	t.Ask(event.Question{Kind: event.AskPermission, Call: "c", Names: []string{permission.Write}, Title: "Write a.go", Detail: "+x"})
	t.Emit(event.ToolEnded{ID: "c", Result: &event.ToolResult{Content: "ok"}})
	t.EmitAs("sub", event.MessageEnded{ID: "s", Text: "I helped"})
	t.Emit(event.MessageEnded{ID: "n", Text: "Bye"})
}

func TestDeltasNeedTheCapability(t *testing.T) {
	plain := []string{
		"ok", "status running", "run.context 75", "0 text Hello", "1 step_start 1 edit", "2 tool_call edit", "status awaiting_ui Write a.go",
		"ui.confirm.request Write a.go +x", "status running", "3 tool_result edit ok", "4 step_complete completed",
		"5 reasoning I helped", "6 final Bye", "status completed",
	}
	rich := []string{
		"ok", "status running", "-1 hidden_user_message go", "-1 model", "-1 delta text Hello", "-1 plan", "run.context 75", "-1 usage",
		"0 text Hello", "1 step_start 1 edit", "2 tool_call edit", "2 delta tool …", "2 permission.preview edit +x", "status awaiting_ui Write a.go",
		"ui.confirm.request Write a.go +x", "2 question_answered answered", "status running", "3 tool_result edit ok", "4 step_complete completed",
		"5 reasoning I helped", "6 final Bye", "status completed",
	}
	preview := append(append([]string{}, plain[:6]...), append([]string{"2 permission.preview edit +x"}, plain[6:]...)...)
	for name, test := range map[string]struct {
		can  []string
		want []string
	}{
		"no":           {nil, plain},
		"deltas":       {[]string{"supports_deltas"}, rich},
		"the previews": {[]string{"supports_permission_preview"}, preview},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				p.Agents.Script = busy
				u := p.Able(test.can...)
				u.Say("run.start", document{"input": document{"type": "text", "text": "go"}})
				u.Reply("ui.confirm.request", document{"ok": true})
				got := u.Heard()
				for i, l := range got {
					if l == "-1 delta text Hel" { // whether they are merged is a matter of time
						got = append(append(got[:i:i], "-1 delta text Hello"), got[i+2:]...)
						break
					}
				}
				assert.Equal(t, test.want, got)
			})
		})
	}
}

func TestUIGetsDeltasOnceAFrameIfItWants(t *testing.T) {
	for name, test := range map[string]struct {
		can      []string
		min, max int
	}{
		"no":         {[]string{"supports_deltas"}, 900, 1000},
		"coalescing": {[]string{"supports_deltas", "supports_coalescing"}, 60, 64},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				p.Agents.Script = func(t *fake.Turn) {
					t.Emit(event.MessageStarted{ID: "m"})
					for range 1000 {
						t.Emit(event.MessageDelta{ID: "m", Text: "x"})
						t.Wait(time.Millisecond)
					}
					t.Emit(event.MessageEnded{ID: "m", Text: strings.Repeat("x", 1000)})
				}
				u := p.Able(test.can...)
				u.Prompt("go")
				time.Sleep(2 * time.Second)
				deltas, text := 0, 0
				for _, l := range u.Heard() {
					if content, ok := strings.CutPrefix(l, "-1 delta text "); ok {
						deltas, text = deltas+1, text+len(content)
					}
				}
				assert.Equal(t, 1000, text)
				assert.GreaterOrEqual(t, deltas, test.min)
				assert.LessOrEqual(t, deltas, test.max)
			})
		})
	}
}

func TestHistoryOmitsDeltasOfCompleteTexts(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = busy
		u := p.Able()
		_, session := u.Prompt("go")
		v := p.Able("supports_deltas")
		v.Ask("portal.session.attach", document{"session_id": session})
		assert.Equal(t, []string{
			"status running", "-1 hidden_user_message go", "-1 model", "-1 delta text", "-1 plan", "run.context 75", "-1 usage", "0 text Hello",
			"1 step_start 1 edit", "2 tool_call edit", "2 permission.preview edit +x", "status awaiting_ui Write a.go", "2 delta tool …",
			"ok", "status awaiting_ui", "ui.confirm.request Write a.go +x",
		}, v.Heard())
	})
}
