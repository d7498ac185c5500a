package ui_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ui"
)

// What terminal UIs of later versions of the protocol send.

func TestPreviewCapabilityHasTwoNames(t *testing.T) {
	for _, name := range []string{"supports_permission_preview", "supports_permission_preflight_events"} {
		inTime(t, func(p *portal) {
			p.Agents.Script = func(t *fake.Turn) {
				t.Emit(event.ToolStarted{ID: "c", Name: "edit", Arguments: []byte(`{"path":"a.go"}`)})
				t.Ask(event.Question{Call: "c", Names: []string{permission.Write}, Title: "Edit a.go", Detail: "+a"})
			}
			u := p.Able(name)
			u.Prompt("x")
			assert.Contains(t, u.Heard(), "1 permission.preview edit +a", name)
		})
	}
}

func TestWorkspaceScopeHasTwoNames(t *testing.T) {
	inTime(t, func(p *portal) {
		u, other := p.Able(), t.TempDir()
		_, here := u.Prompt("a")
		u.Ask("portal.session.start", document{"directory": other})
		_, there := u.Prompt("b")
		for _, tc := range []struct {
			params document
			root   string
			want   []any
		}{
			{document{"scope": "all"}, "/", []any{there, here}},
			{document{}, "/", []any{there, here}},
			{document{"scope": "current"}, "/", []any{here}},
			{document{"scope": "current_workspace"}, "/", []any{here}},
			{document{"scope": "current_workspace", "workspace_root": other}, other, []any{there}},
		} {
			r := u.Ask("session.list", tc.params)
			assert.Equal(t, tc.root, r["current_workspace_root"], tc.params)
			var got []any
			for _, s := range r["sessions"].([]any) {
				got = append(got, s.(document)["session_id"])
			}
			assert.ElementsMatch(t, tc.want, got, tc.params)
		}
	})
}

func TestToolWithoutApprovalIsCalledAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		approval string
		rule     string
		want     [2]bool // the user is asked; the tool is called
	}{
		"never":                {"never", "", [2]bool{false, true}},
		"never, but asked":     {"never", "ask", [2]bool{false, true}},
		"never, but denied":    {"never", "deny", [2]bool{false, false}},
		"default":              {"default", "", [2]bool{true, false}},
		"nothing is said":      {"", "", [2]bool{true, false}},
		"a word of the future": {"sometimes", "", [2]bool{true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				p.Agents.Script = func(t *fake.Turn) { t.UseTool("show", `{"a":1}`) }
				u := p.Able()
				u.MaySendInvalid()
				permissions := document{}
				if tc.rule != "" {
					permissions["show"] = tc.rule
				}
				tools := []document{{"name": "show", "parameters": document{"type": "object"}, "approval": tc.approval}}
				u.Ask("portal.session.start", document{"permissions": permissions, "tools": tools})
				u.Prompt("x")
				got := u.Heard()
				asked, called := slices.Contains(got, "ui.confirm.request Use show Use show"), slices.Contains(got, "client.tool.call show")
				assert.Equal(t, tc.want, [2]bool{asked, called}, "%q", got)
			})
		})
	}
}

func TestClientCannotExemptAgentTools(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command // whose tool is the agent's
		u := p.Able()
		u.Ask("run.start", document{"input": text("x"), "tools": []document{{"name": "exec.run", "approval": "never"}, {"name": "show", "approval": "never"}}})
		assert.Contains(t, u.Heard(), "ui.confirm.request List files ls")
	})
}

func TestClientToolResultIsShownAsText(t *testing.T) {
	for name, tc := range map[string]struct {
		result any
		want   string
	}{
		"a text":              {document{"result": "4 files"}, "4 files"},
		"a text that says so": {document{"ok": true, "result": document{"type": "text", "text": "4 files"}}, "4 files"},
		"JSON that says so":   {document{"ok": true, "result": document{"type": "json", "value": document{"files": 4}}}, `{"files":4}`},
		"parts":               {document{"ok": true, "result": document{"type": "parts", "parts": []any{document{"type": "text", "text": "4"}, "files"}}}, "4\nfiles"},
		"an object":           {document{"result": document{"files": 4}}, `{"files":4}`},
		"a number":            {document{"ok": true, "result": 4}, "4"},
		"nothing":             {document{"ok": true}, ""},
		"a failure":           {document{"ok": false, "error": "no disk"}, "failed: no disk"},
		"a failure of ours":   {document{"result": document{"type": "text", "text": "no disk"}, "is_error": true}, "failed: no disk"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				got := ""
				p.Agents.Script = func(t *fake.Turn) {
					a, _ := t.Ask(event.Question{Kind: event.AskTool, Call: "c", Tool: "count", Arguments: []byte(`{"of": "files"}`)})
					got = a.Text
					if a.Failed {
						got = "failed: " + a.Reason
					}
				}
				u := p.Able()
				u.Ask("run.start", document{"input": text("x"), "tools": []document{{"name": "count"}}})
				for _, f := range u.Raw() {
					if f["method"] == "client.tool.call" {
						assert.JSONEq(t, `{"of":"files"}`, f["params"].(document)["raw_arguments"].(string))
					}
				}
				u.Reply("client.tool.call", tc.result)
				assert.Equal(t, tc.want, got)
			})
		})
	}
}

func FuzzResultText(f *testing.F) {
	for _, seed := range []string{`"a"`, `{"type":"text","text":"a"}`, `{"type":"json","value":[1]}`, `{"type":"parts","parts":["a",{"type":"parts"}]}`, `null`, `{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got := ui.ResultText(raw); len(got) > 6*len(raw) {
			t.Errorf("%d bytes of %q", len(got), raw)
		}
	})
}

func TestUserIsSignedOut(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Account = agent.Account{SignedIn: true, Login: "ada"}
		u := p.Able()
		_, before := u.Prompt("x")
		refused := u.Say("auth.logout", document{})
		u.Reply("ui.confirm.request", document{"ok": false})
		assert.Equal(t, document{"ok": false, "auth_cleared": false, "session_cleared": false, "cancelled": true}, answerOf(u, refused))
		assert.Empty(t, p.Agents.Calls(fake.SignOut))
		done := u.Say("auth.logout", document{"clear_session": true})
		u.Reply("ui.confirm.request", document{"ok": true})
		assert.Equal(t, document{"ok": true, "auth_cleared": true, "session_cleared": true}, answerOf(u, done))
		_, after := u.Prompt("x")
		assert.NotEqual(t, before, after, "the next run begins a session")

		simple := p.Open()
		assert.Equal(t, document{"ok": true, "auth_cleared": false, "session_cleared": false}, simple.Ask("auth.logout", document{}), "nobody is signed in any more")
	})
}

func TestExternalSignInIsExplained(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.SignOut {
				return fault.Errorf(fault.Denied, "the sign-in comes from GH_TOKEN")
			}
			return nil
		}
		r := p.Open().Ask("auth.logout", document{})
		assert.Equal(t, -32602, r["code"])
		assert.Equal(t, "the sign-in comes from GH_TOKEN", r["message"])
	})
}

func TestClientRulesApplyToItsSessions(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		u := p.OpenAs(ui.Client{Policy: permission.Everywhere(permission.Allow)})
		u.Ask("initialize", document{"ui_capabilities": document{"supports_confirm": true}})
		u.Prompt("x")
		assert.Contains(t, u.Heard(), "status completed", "nobody is asked")
		u.Ask("portal.session.start", document{"permissions": document{"exec.run": "ask"}})
		u.Prompt("x")
		assert.Contains(t, u.Heard(), "ui.confirm.request List files ls", "what is said of a session counts more")
	})
}

// answerOf is the result of a request that was answered.
func answerOf(u *screen, id string) document {
	u.Helper()
	synctest.Wait()
	for _, f := range u.Raw() {
		if f["id"] == id && f["method"] == nil {
			d, _ := f["result"].(document)
			return d
		}
	}
	require.Fail(u, "no answer")
	return nil
}
