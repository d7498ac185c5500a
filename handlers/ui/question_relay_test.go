package ui_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ui"
)

// asks is a script that asks and then says the answer.
func asks(q event.Question) func(*fake.Turn) {
	return func(t *fake.Turn) {
		a, ok := t.Ask(q)
		if !ok {
			return
		}
		text, err := json.Marshal(a)
		if err == nil {
			t.Say(string(text))
		}
	}
}

func form() *event.Form {
	return &event.Form{Fields: []event.Field{
		{Name: "name", Type: event.FieldText, Required: true},
		{Name: "size", Type: event.FieldInteger, Required: true},
		{Name: "kind", Type: event.FieldText, Required: true, Choices: []event.Choice{{Value: "a", Title: "First"}, {Value: "b", Title: "Second"}}},
		{Name: "note", Type: event.FieldText},
	}}
}

func TestQuestionsUseContractRequests(t *testing.T) {
	type step struct {
		method string
		result document
	}
	for name, test := range map[string]struct {
		q    event.Question
		can  []string
		does []step
		want event.Answer
	}{
		"a choice is picked": {
			q:    event.Question{Kind: event.AskInput, Text: "Which?", Choices: []string{"red", "blue"}},
			does: []step{{"ui.pick.request", document{"ids": []string{"1"}}}},
			want: event.Answer{Text: "blue"},
		},
		"a choice that may be free is prompted for": {
			q:    event.Question{Kind: event.AskInput, Text: "Which?", Choices: []string{"red"}, Freeform: true},
			does: []step{{"ui.pick.request", document{"ids": []string{"other"}}}, {"ui.prompt.request", document{"value": "green"}}},
			want: event.Answer{Text: "green"},
		},
		"a text is prompted for": {
			q:    event.Question{Kind: event.AskInput, Text: "Why?", Freeform: true},
			does: []step{{"ui.prompt.request", document{"value": "because"}}},
			want: event.Answer{Text: "because"},
		},
		"a prompt is declined with null": {
			q:    event.Question{Kind: event.AskInput, Text: "Why?", Freeform: true},
			does: []step{{"ui.prompt.request", document{"value": nil}}},
			want: event.Answer{Reason: "The user did not want to answer."},
		},
		"a pick is declined with nothing": {
			q:    event.Question{Kind: event.AskInput, Text: "Which?", Choices: []string{"red"}},
			does: []step{{"ui.pick.request", document{"ids": []string{}}}},
			want: event.Answer{Reason: "The user did not want to answer."},
		},
		"a plan is confirmed": {
			q:    event.Question{Kind: event.AskPlan, Text: "1. Think"},
			does: []step{{"ui.confirm.request", document{"ok": true}}},
			want: event.Answer{Approved: true},
		},
		"a plan is carried out in the way that is chosen": {
			q: event.Question{Kind: event.AskPlan, Text: "1. Think", Choices: []string{"alone", "with me"}}, can: []string{"supports_deltas"},
			does: []step{{"ui.confirm.request", document{"ok": true, "choice": "with me"}}},
			want: event.Answer{Approved: true, Text: "with me"},
		},
		"a plan is carried out as recommended": {
			q: event.Question{Kind: event.AskPlan, Text: "1. Think", Choices: []string{"alone", "with me"}}, can: []string{"supports_deltas"},
			does: []step{{"ui.confirm.request", document{"ok": true}}},
			want: event.Answer{Approved: true},
		},
		"a way is none of a plan that is refused": {
			q: event.Question{Kind: event.AskPlan, Text: "1. Think", Choices: []string{"alone"}}, can: []string{"supports_deltas"},
			does: []step{{"ui.confirm.request", document{"ok": false, "choice": "alone", "reason": "no"}}},
			want: event.Answer{Reason: "no"},
		},
		"a way counts only for who was told of it": {
			q:    event.Question{Kind: event.AskPlan, Text: "1. Think", Choices: []string{"alone"}},
			does: []step{{"ui.confirm.request", document{"ok": true, "choice": "alone"}}},
			want: event.Answer{Approved: true},
		},
		"a plan is refused": {
			q:    event.Question{Kind: event.AskPlan, Text: "1. Think"},
			does: []step{{"ui.confirm.request", document{"ok": false, "reason": "shorter"}}},
			want: event.Answer{Reason: "shorter"},
		},
		"a page is visited": {
			q:    event.Question{Kind: event.AskSignIn, URL: "https://example.org/"},
			does: []step{{"ui.confirm.request", document{"ok": true, "remember": true}}},
			want: event.Answer{Approved: true},
		},
		"a form is filled in field by field until each fits": {
			q: event.Question{Kind: event.AskForm, Form: form()},
			does: []step{
				{"ui.prompt.request", document{"value": "n"}},
				{"ui.prompt.request", document{"value": "many"}},
				{"ui.prompt.request", document{"value": "7"}},
				{"ui.pick.request", document{"ids": []string{"b"}}},
				{"ui.prompt.request", document{"value": ""}},
			},
			want: event.Answer{Approved: true, Fields: map[string]any{"name": "n", "size": 7.0, "kind": "b"}},
		},
		"a form is declined in its middle": {
			q:    event.Question{Kind: event.AskForm, Form: form()},
			does: []step{{"ui.prompt.request", document{"value": "n"}}, {"ui.prompt.request", document{"value": nil}}},
		},
		"a form comes whole to who takes it": {
			q: event.Question{Kind: event.AskForm, Form: form()}, can: []string{"supports_forms"},
			does: []step{{"portal.form.request", document{"ok": true, "fields": document{"name": "n", "size": 7, "kind": "a"}}}},
			want: event.Answer{Approved: true, Fields: map[string]any{"name": "n", "size": 7.0, "kind": "a"}},
		},
		"a permission is remembered": {
			q:    lists(),
			does: []step{{"ui.confirm.request", document{"ok": true, "remember": true}}},
			want: event.Answer{Approved: true, Remember: true, Scope: permission.ScopeCommand},
		},
		"a permission is remembered in a scope": {
			q:    lists(),
			does: []step{{"ui.confirm.request", document{"ok": true, "remember": true, "scope": "program"}}},
			want: event.Answer{Approved: true, Remember: true, Scope: permission.ScopeProgram},
		},
		"a scope that is not offered is asked for again": {
			q: lists(),
			does: []step{
				{"ui.confirm.request", document{"ok": true, "remember": true, "scope": "host"}},
				{"ui.confirm.request", document{"ok": true}},
			},
			want: event.Answer{Approved: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				p.Agents.Script = asks(test.q)
				u := p.Able(test.can...)
				mode := "interactive"
				if test.q.Kind == event.AskPlan {
					mode = "plan"
				}
				u.Ask("run.start", document{"input": document{"type": "text", "text": "ask me"}, "portal": document{"mode": mode}})
				for _, s := range test.does {
					u.Reply(s.method, s.result)
				}
				want, err := json.Marshal(test.want)
				require.NoError(t, err)
				assert.Contains(t, u.Heard(), "0 final "+string(want))
			})
		})
	}
}

func TestRefusalByErrorDeclines(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		u := p.Able()
		u.Prompt("work")
		synctest.Wait()
		u.Frame(document{"jsonrpc": "2.0", "id": u.Asked("ui.confirm.request"), "error": document{"code": -32003, "message": "cancelled"}})
		assert.Contains(t, u.Heard(), "2 tool_result bash Permission denied")
	})
}

func TestInvalidAnswerDeclines(t *testing.T) {
	for name, result := range map[string]any{"no ok": document{}, "no object": 7, "a text for a boolean": document{"ok": "yes"}} {
		t.Run(name, func(t *testing.T) {
			inTimeWith(t, ui.Options{Headless: permission.Allow}, func(p *portal) {
				p.Agents.Script = command
				u := p.Able()
				u.MaySendInvalid()
				u.Prompt("work")
				u.Reply("ui.confirm.request", result)
				assert.Contains(t, strings.Join(u.Heard(), "\n"), "2 tool_result bash Permission denied: The UI sent an unreadable answer.")
			})
		})
	}
}

func TestClientToolIsCalledWhereItWasDeclared(t *testing.T) {
	for name, test := range map[string]struct {
		answer any
		want   string
	}{
		"a text":   {document{"result": "4 files"}, "4 files"},
		"JSON":     {document{"result": document{"files": 4}}, `{"files":4}`},
		"an error": {document{"result": "no such thing", "is_error": true}, "failed: no such thing"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				p.Agents.Script = func(t *fake.Turn) {
					a, _ := t.Ask(event.Question{Kind: event.AskTool, Call: "c", Tool: "count", Arguments: []byte(`{"of":"files"}`)})
					if a.Failed {
						a.Text = "failed: " + a.Reason
					}
					t.Say(a.Text)
				}
				u, other := p.Able(), p.Able()
				r := u.Ask("run.start", document{
					"input": document{"type": "text", "text": "count"},
					"tools": []document{{"name": "count", "description": "Counts", "parameters": document{"type": "object"}}},
				})
				other.Ask("portal.session.attach", document{"session_id": r["session_id"]})
				u.Reply("client.tool.call", test.answer)
				assert.Contains(t, u.Heard(), "0 final "+test.want)
				assert.NotContains(t, strings.Join(other.Heard(), "\n"), "client.tool.call")
				opening := p.Agents.Calls(fake.Open)[0].Opening
				require.Len(t, opening.Tools, 1)
				assert.Equal(t, "count", opening.Tools[0].Name)
			})
		})
	}
}

// lists is the question for a command.
func lists() event.Question {
	q := event.Question{Kind: event.AskPermission, Title: "Run"}
	q.SetNeeds(permission.ShellNeeds("ls")...)
	return q
}

func TestScopesAreOfferedAndRememberedRulesRevoked(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = asks(lists())
		u, other := p.Able("supports_deltas"), p.Able("supports_deltas")
		_, session := u.Prompt("x")
		attached(other, session)
		params := document{}
		for _, f := range u.Raw() {
			if f["method"] == "ui.confirm.request" {
				params, _ = f["params"].(document)
			}
		}
		assert.Equal(t, true, params["allow_remember"])
		assert.Equal(t, []any{
			document{"kind": "command", "label": "this exact command", "rules": []any{"exec.run(ls)"}},
			document{"kind": "program", "label": "ls *", "rules": []any{"exec.run(ls *)"}},
			document{"kind": "commands", "label": "all commands", "rules": []any{"exec.run"}},
		}, params["scopes"])
		u.Reply("ui.confirm.request", document{"ok": true, "remember": true, "scope": "program"})

		id, want := document{"session_id": session}, document{"exec.run(ls *)": "allow"}
		assert.Equal(t, []any{want}, told(other, "permissions", "remembered"))
		assert.Equal(t, want, other.Ask("portal.session.permissions", id)["remembered"])
		assert.Equal(t, want, attached(p.Able(), session)["remembered"])
		assert.Equal(t, document{}, other.Ask("portal.session.revoke", document{"session_id": session, "rule": "exec.run(ls *)"}))
		assert.Equal(t, document{}, u.Ask("portal.session.permissions", id)["remembered"])
		assert.Equal(t, document{}, u.Ask("portal.session.permissions", id)["rules"])
	})
}
