package ui_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

func TestAttachReplaysThenFollows(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		first, second := p.Able(), p.Able()
		_, session := first.Prompt("list the files")
		first.Heard()

		second.Say("portal.session.attach", document{"session_id": session})
		assert.Equal(t, []string{
			"status running", "-1 hidden_user_message list the files", "0 step_start 1 bash", "1 tool_call bash", "status awaiting_ui List files",
			"ok", "status awaiting_ui", "ui.confirm.request List files ls",
		}, second.Heard())
		second.Reply("ui.confirm.request", document{"ok": true})
		rest := []string{"status running", "2 tool_result bash a.go", "3 step_complete completed", "4 final It is done.", "status completed"}
		assert.Equal(t, rest, second.Heard())
		assert.Equal(t, rest, first.Heard(), "the one who began the run sees the same")
	})
}

func TestHistoryHasLiveSequenceNumbers(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		u := p.Able()
		run, session := u.Prompt("list the files")
		u.Reply("ui.confirm.request", document{"ok": true})
		live := u.Heard()

		v := p.Able()
		result := v.Ask("session.history", document{"session_id": session})
		assert.Equal(t, document{"runs": 1.0, "events_sent": 6.0}, result)
		raw := v.Raw()
		params, _ := raw[0]["params"].(document)
		assert.Equal(t, run, params["run_id"])
		told := v.Heard()
		assert.Equal(t, []string{
			"-1 hidden_user_message list the files", "0 step_start 1 bash", "1 tool_call bash", "2 tool_result bash a.go",
			"3 step_complete completed", "4 final It is done.", "ok",
		}, told)
		for _, event := range told[1 : len(told)-1] {
			assert.Contains(t, live, event)
		}
	})
}

func TestHistoryIsCutToTheNewest(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { t.Say(t.Prompt) }
		u := p.Able()
		_, session := u.Prompt("a")
		for _, text := range []string{"b", "c", "d"} {
			synctest.Wait()
			u.Prompt(text)
		}
		u.Heard()
		for name, test := range map[string]struct {
			params document
			want   []string
			result document
		}{
			"by runs": {
				document{"max_runs": 1},
				[]string{"-1 hidden_user_message d", "0 final d"},
				document{"runs": 1.0, "events_sent": 2.0, "truncated": true},
			},
			"by events": {
				document{"max_events": 3},
				[]string{"0 final c", "-1 hidden_user_message d", "0 final d"},
				document{"runs": 2.0, "events_sent": 3.0, "truncated": true},
			},
			"not at all": {
				document{"max_runs": 4, "max_events": 8},
				[]string{
					"-1 hidden_user_message a", "0 final a", "-1 hidden_user_message b", "0 final b",
					"-1 hidden_user_message c", "0 final c", "-1 hidden_user_message d", "0 final d",
				},
				document{"runs": 4.0, "events_sent": 8.0},
			},
		} {
			test.params["session_id"] = session
			v := p.Able()
			assert.Equal(t, test.result, v.Ask("session.history", test.params), name)
			assert.Equal(t, append(test.want, "ok"), v.Heard(), name)
		}
	})
}

func TestCursorResumesWithinRun(t *testing.T) {
	inTime(t, func(p *portal) {
		next := make(chan struct{})
		p.Agents.Script = func(t *fake.Turn) {
			for i := range 6 {
				<-next
				id := fmt.Sprint(i)
				t.Emit(event.ToolStarted{ID: id, Name: "bash"}, event.MessageEnded{ID: id, Text: id})
				t.Emit(event.ToolEnded{ID: id, Result: &event.ToolResult{Content: id}})
			}
		}
		whole, u := p.Able("supports_deltas"), p.Able("supports_deltas")
		_, session := whole.Prompt("work")
		var told []string
		cursor := ""
		for range 6 { // a new connection each time, with the last cursor of the one before
			if cursor == "" {
				require.NotNil(t, u.Ask("portal.session.attach", document{"session_id": session})["session"])
			}
			next <- struct{}{}
			for _, f := range u.Raw() {
				if params, _ := f["params"].(document); params["meta"] != nil && f["method"] == "agent.event" {
					cursor, _ = params["meta"].(document)["cursor"].(string)
					told = append(told, uitest.Line(f))
				}
			}
			require.NotEmpty(t, cursor)
			u = p.Able("supports_deltas")
			r := u.Ask("portal.session.attach", document{"session_id": session, "after": cursor})
			require.Nil(t, r["reset"], "%v", r)
		}
		for _, f := range u.Raw() {
			if f["method"] == "agent.event" {
				told = append(told, uitest.Line(f))
			}
		}
		var want []string
		for _, f := range whole.Raw() {
			if f["method"] == "agent.event" {
				want = append(want, uitest.Line(f))
			}
		}
		assert.Equal(t, want, told)
		assert.Len(t, want, 32, "a prompt, five blocks and a final, and four for each tool, and the title")
	})
}

func TestCursorOfNoUseBringsEverythingAgain(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		_, session := u.Prompt("hello")
		r := u.Ask("portal.session.attach", document{"session_id": session, "after": "1-5.2"})
		assert.Equal(t, true, r["reset"])
		assert.InDelta(t, 2, r["events_sent"], 0)
		for _, text := range []string{"x", "1-5", "1-5.9", "1-5.02"} {
			r := u.Ask("portal.session.attach", document{"session_id": session, "after": text})
			assert.Equal(t, -32602, r["code"], text)
		}
	})
}

// A portal that is killed loses its last entries. The entry that gets the number anew has other messages.
func TestCursorWithinLostEntryBringsEverythingAgain(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		_, session := u.Prompt("hello")
		cursor := ""
		for _, f := range u.Raw() {
			if params, _ := f["params"].(document); params["status"] == "completed" {
				cursor, _ = params["meta"].(document)["cursor"].(string)
			}
		}
		require.NotEmpty(t, cursor)
		r := u.Ask("portal.session.attach", document{"session_id": session, "after": cursor})
		require.Nil(t, r["reset"], "it has everything: %v", r)
		r = u.Ask("portal.session.attach", document{"session_id": session, "after": cursor + ".1"})
		assert.Equal(t, true, r["reset"], "it has the first message of an entry that does not exist")
	})
}

func TestUnknownSession(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		assert.Equal(t, document{"runs": 0.0, "events_sent": 0.0}, u.Ask("session.history", document{"session_id": "no"}))
		assert.Equal(t, -32004, u.Ask("portal.session.attach", document{"session_id": "no"})["code"])
		assert.Equal(t, -32004, u.Ask("run.start", document{"session_id": "no", "input": document{"type": "text", "text": "x"}})["code"])
		assert.Equal(t, -32002, u.Ask("run.cancel", document{"run_id": "no"})["code"])
	})
}

func TestDetachedSessionSendsNothing(t *testing.T) {
	inTime(t, func(p *portal) {
		u, v := p.Able(), p.Able()
		_, session := u.Prompt("a")
		v.Ask("portal.session.attach", document{"session_id": session})
		assert.Equal(t, document{"detached": true}, v.Ask("portal.session.detach", document{"session_id": session}))
		assert.Equal(t, document{"detached": false}, v.Ask("portal.session.detach", document{"session_id": session}))
		v.Heard()
		u.Prompt("b")
		assert.Empty(t, v.Heard())
	})
}

func TestClosedSessionReopensWithNextPrompt(t *testing.T) {
	inTime(t, func(p *portal) {
		u, v := p.Able(), p.Able()
		_, session := u.Prompt("a")
		v.Ask("portal.session.attach", document{"session_id": session})
		v.Ask("portal.session.close", document{"session_id": session})
		assert.Contains(t, v.Heard(), "portal.session.closed")
		u.Heard()
		u.Say("run.start", document{"session_id": session, "input": document{"type": "text", "text": "b"}})
		assert.Equal(t, []string{"ok", "status running", "0 final b", "status completed"}, u.Heard())
	})
}
