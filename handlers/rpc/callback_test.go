package rpc_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/rpc"
)

// commits is a script that calls the plugin's tool and says what came of it.
func commits(t *fake.Turn) {
	got, ok := t.UseTool("git.commit", `{"type":"feat","description":"x"}`)
	if ok {
		got = "ok: " + got
	}
	t.Emit(event.MessageEnded{ID: t.ID("m"), Text: got})
}

// runs is a script that asks for one of the CLI's own tools.
func runs(t *fake.Turn) {
	t.Emit(event.ToolStarted{ID: "c", Name: "bash", Arguments: []byte(`{"command":"make"}`)})
	a, _ := t.Ask(event.Question{Call: "c", Names: []string{permission.Exec}, Title: "Run make"})
	got := "refused: " + a.Reason
	if a.Approved {
		got = "ran"
	}
	t.Emit(event.MessageEnded{ID: t.ID("m"), Text: got})
}

const success = `{"success":true,"result":{"commitSha":"abc"}}`

func always(status int, body string) func(*http.Request, document) (int, string) {
	return func(*http.Request, document) (int, string) { return status, body }
}

// never does not answer before the other side gives up.
func never(r *http.Request, _ document) (int, string) {
	<-r.Context().Done()
	return 0, ""
}

func TestPluginToolCallIsPostedAndAnswered(t *testing.T) {
	for _, c := range []struct {
		name, policy string
		answer       func(*http.Request, document) (int, string)
		said         string // by the model
		events       string // sent about it
		posts        int
	}{
		{"allowed", "allow", always(200, success), `ok: {"commitSha":"abc"}`, "tool.request question.answered", 1},
		{"asked and approved", "ask", always(200, success), `ok: {"commitSha":"abc"}`, "tool.approval question.answered tool.request question.answered", 1},
		{
			"asked and refused", "ask", always(200, `{"success":false,"error":"denied","userMessage":"Not now"}`),
			"The user rejected this tool call. User feedback: Not now", "tool.approval question.answered", 1,
		},
		{"allowed and refused", "allow", always(200, `{"success":false,"error":"denied"}`), "denied", "tool.request question.answered", 1},
		{"denied", "deny", always(200, success), "The user rejected this tool call. User feedback: The permissions of this session do not allow it.", "", 0},
		{"a result that is a text", "allow", always(200, `{"success":true,"result":"done it"}`), "ok: done it", "tool.request question.answered", 1},
		{"no result", "allow", always(200, `{"success":true}`), "ok: Done.", "tool.request question.answered", 1},
		{"down", "allow", always(0, ""), "The tool call-back failed: the IDE cannot be reached: unexpected EOF", "tool.request error question.answered", 1},
		{"bad JSON", "allow", always(200, "<html>"), "The tool call-back failed: the IDE's answer is not the JSON that was expected", "tool.request error question.answered", 1},
		{"no success", "allow", always(200, "{}"), `The tool call-back failed: the IDE's answer has no "success"`, "tool.request error question.answered", 1},
		{"no object", "allow", always(200, "null"), `The tool call-back failed: the IDE's answer has no "success"`, "tool.request error question.answered", 1},
		{"an error of HTTP", "allow", always(500, success), "The tool call-back failed: the IDE answered with HTTP status 500", "tool.request error question.answered", 1},
		{"a redirect", "allow", always(302, success), "The tool call-back failed: the IDE answered with HTTP status 302", "tool.request error question.answered", 1},
		{"slow", "allow", never, "The tool call-back failed: the IDE did not answer within 5m0s", "tool.request error question.answered", 1},
		{"slow when asked", "ask", never, "The user rejected this tool call. User feedback: The tool call-back failed: the IDE did not answer within 5m0s", "tool.approval error question.answered", 1},
		{"too much", "allow", always(200, strings.Repeat(" ", 5<<20)), "The tool call-back failed: the IDE's answer is larger than 4194304 bytes", "tool.request error question.answered", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTimeWith(t, copilot.Options{Limits: copilot.Limits{Tool: 10 * time.Minute}}, rpc.Options{Limit: 5 * time.Minute, Callback: "http://localhost:1234"}, func(a *api) {
				a.agents.Script, a.plugin.answer = commits, c.answer
				id := a.create(document{"permissions": document{"git.commit": c.policy}})
				s := a.open(id, "", "")
				a.send(id, "p")
				got := s.until("done")
				assert.Equal(a, c.said, shown(got))
				var names []string
				for _, e := range got {
					if !strings.HasPrefix(e.name, "timeline.") && e.name != "done" {
						names = append(names, e.name)
					}
				}
				assert.Equal(a, c.events, strings.Join(names, " "))
				assert.Len(a, a.plugin.seen(), c.posts)
				if c.posts > 0 {
					call := a.plugin.seen()[0]
					assert.Equal(a, document{
						"sessionId": id, "toolName": "git.commit", "callId": call["callId"], "args": document{"type": "feat", "description": "x"},
					}, call)
					assert.Equal(a, "http://localhost:1234/tool-callback", a.plugin.paths[0])
				}
				if strings.Contains(c.events, "error") {
					e := find(a, got, "error")
					assert.InDelta(a, -32001, e["code"], 0)
					assert.Contains(a, e["data"], "The tool call-back failed: ")
				}
			})
		})
	}
}

func TestStreamReportsApprovalBeforeCallback(t *testing.T) {
	inTime(t, func(a *api) {
		var s, got *stream
		a.agents.Script = commits
		a.plugin.answer = func(_ *http.Request, call document) (int, string) {
			e := find(a, got.until("tool.approval"), "tool.approval")
			assert.Equal(a, call["callId"], e["callId"])
			assert.Equal(a, document{"type": "feat", "description": "x"}, e["args"])
			assert.Equal(a, true, e["requiresApproval"])
			assert.Equal(a, "git.commit", e["toolName"])
			return 200, success
		}
		id := a.create(document{"callbackUrl": "http://127.0.0.1:7/cb"})
		s, got = a.open(id, "", ""), a.open(id, "", "")
		synctest.Wait()
		a.send(id, "p")
		assert.Contains(a, shown(s.until("done")), "abc")
		assert.Equal(a, "http://127.0.0.1:7/cb", a.plugin.paths[0], "used as given")
	})
}

func TestAnyOtherClientMayAnswerFirst(t *testing.T) {
	for name, c := range map[string]struct {
		script   func(*fake.Turn)
		approved bool
		said     string
	}{
		"a refusal of the plugin's tool":   {commits, false, "The user rejected this tool call. User feedback: no"},
		"an approval of the CLI's own":     {runs, true, "ran"},
		"a refusal of the CLI's own":       {runs, false, "refused: no"},
		"an approval of the plugin's tool": {commits, true, `ok: {"commitSha":"abc"}`},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(a *api) {
				a.agents.Script = c.script
				var abandoned atomic.Bool
				a.plugin.answer = func(r *http.Request, _ document) (int, string) {
					select {
					case <-r.Context().Done():
						abandoned.Store(true)
						return 0, ""
					case <-time.After(time.Minute):
						return 200, success
					}
				}
				id := a.create(document{"callbackUrl": "http://[::1]:7"})
				s := a.open(id, "", "")
				a.send(id, "p")
				e := find(a, s.until("tool.approval"), "tool.approval")
				synctest.Wait() // the plugin has been asked, too
				a.must("question.answer", document{"sessionId": id, "callId": e["callId"], "approved": c.approved, "reason": "no"})
				assert.Equal(a, c.said, shown(s.until("done")))
				synctest.Wait()
				assert.Equal(a, !strings.Contains(c.said, "abc"), abandoned.Load())
				assert.Len(a, a.plugin.seen(), 1)
				code, data := a.refused("question.answer", document{"sessionId": id, "requestId": e["requestId"], "approved": true})
				assert.Equal(a, -32602, code)
				assert.Equal(a, "the question was already answered", data)
			})
		})
	}
}

func TestPluginOnlyApprovesToolsOfTheCLI(t *testing.T) {
	for answer, said := range map[string]string{
		`{"success":true}`: "ran",
		`{"success":false,"userMessage":"Not in this project"}`: "refused: Not in this project",
		`nonsense`: "refused: The tool call-back failed: the IDE's answer is not the JSON that was expected",
	} {
		inTime(t, func(a *api) {
			a.agents.Script, a.plugin.answer = runs, always(200, answer)
			id := a.create(document{"callbackUrl": "http://localhost:7"})
			a.send(id, "p")
			assert.Equal(a, said, shown(a.open(id, "", "").until("done")))
			assert.Equal(a, []document{{
				"sessionId": id, "toolName": "bash", "callId": "c", "args": document{"command": "make"}, "approvalOnly": true,
			}}, a.plugin.seen())
		})
	}
}

func TestRememberedApprovalIsNotAskedAgain(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Script = func(t *fake.Turn) { commits(t); commits(t) }
		a.plugin.answer = func(*http.Request, document) (int, string) { time.Sleep(time.Second); return 200, success }
		id := a.create(document{"callbackUrl": "http://localhost:7"})
		s := a.open(id, "", "")
		a.send(id, "p")
		e := find(a, s.until("tool.approval"), "tool.approval")
		a.must("question.answer", document{"sessionId": id, "callId": e["callId"], "approved": true, "remember": true})
		got := s.until("done")
		assert.NotContains(a, names(got), "tool.approval")
		assert.Equal(a, `ok: {"commitSha":"abc"}ok: {"commitSha":"abc"}`, shown(got))
		assert.Len(a, a.plugin.seen(), 2)
	})
}

func TestAnyClientAnswersToolsWithoutCallback(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Script = func(t *fake.Turn) {
			got, _ := t.UseTool("shop.buy", `{"n":1}`)
			t.Emit(event.MessageEnded{ID: t.ID("m"), Text: got})
		}
		id := a.create(document{
			"permissions": document{"shop": "allow"},
			"tools":       []document{{"name": "shop.buy", "description": "buys", "parameters": document{"type": "object"}}},
		})
		s := a.open(id, "", "")
		a.send(id, "p")
		e := find(a, s.until("tool.request"), "tool.request")
		assert.Equal(a, document{"n": 1.0}, e["args"])
		a.must("question.answer", document{"sessionId": id, "callId": e["callId"], "answer": "bought"})
		assert.Equal(a, "bought", shown(s.until("done")))
		a.send(id, "p")
		e = find(a, s.until("tool.request"), "tool.request")
		a.must("question.answer", document{"sessionId": id, "callId": e["callId"], "failed": true, "reason": "sold out"})
		assert.Equal(a, "sold out", shown(s.until("done")))
	})
}

func TestQuestionsAreAskedAndAnswered(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Script = func(t *fake.Turn) {
			answer, _ := t.Ask(event.Question{Kind: event.AskInput, Text: "Which?", Choices: []string{"a", "b"}})
			t.Emit(event.MessageEnded{ID: t.ID("m"), Text: answer.Text})
		}
		id := a.create(document{"callbackUrl": "http://localhost:7"})
		s := a.open(id, "", "")
		a.send(id, "p")
		e := find(a, s.until("question"), "question")
		assert.Equal(a, document{"requestId": e["requestId"], "kind": "input", "question": "Which?", "choices": []any{"a", "b"}, "freeform": false}, e)
		a.must("question.answer", document{"sessionId": id, "requestId": e["requestId"], "answer": "b"})
		assert.Equal(a, "b", shown(s.until("done")))
		assert.Empty(a, a.plugin.seen(), "it is no tool")
	})
}

func TestForcePushFollowsSessionPushRule(t *testing.T) {
	for _, c := range []struct {
		name          string
		create, later document
		asked, denied bool
	}{
		{"none: it is asked", nil, nil, true, false},
		{"its own", document{"git.push": "deny", "git.forcePush": "allow"}, nil, false, false},
		{"that of pushes", document{"git.push": "allow"}, nil, false, false},
		{"that of pushes, denied", document{"Git.Push": "deny"}, nil, false, true},
		{"that of pushes, later", document{}, document{"git.push": "allow"}, false, false},
		{"its own, whatever comes later", document{"git.forcePush": "deny"}, document{"git.push": "allow"}, false, true},
		{"that of pushes, which changes", document{"git.push": "deny"}, document{"git.push": "ask"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTimeWith(t, copilot.Options{Policy: permission.Policy{"git.push": permission.Ask}}, rpc.Options{}, func(a *api) {
				a.agents.Script = func(t *fake.Turn) { t.UseTool("git.push", `{"force":true}`) }
				a.plugin.answer = always(200, success)
				id := a.create(document{"callbackUrl": "http://localhost:7", "permissions": c.create})
				a.must("session.send", document{"sessionId": id, "prompt": "p", "permissions": c.later})
				got := a.open(id, "", "").until("done")
				assert.Equal(a, c.asked, strings.Contains(names(got), "tool.approval"))
				assert.Equal(a, c.denied, len(a.plugin.seen()) == 0)
			})
		})
	}
}

func TestCancelledRunAbandonsCallbacks(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Script = commits
		called, ended := make(chan struct{}), make(chan struct{})
		a.plugin.answer = func(r *http.Request, _ document) (int, string) {
			close(called)
			<-r.Context().Done()
			close(ended)
			return 0, ""
		}
		id := a.create(document{"callbackUrl": "http://localhost:7", "permissions": document{"git": "allow"}})
		s := a.open(id, "", "")
		a.send(id, "p")
		s.until("tool.request")
		<-called // the stream may be ahead of the call
		assert.Equal(a, document{"cancelled": true}, a.must("session.cancel", document{"sessionId": id}))
		got := s.until("done")
		assert.Equal(a, "cancelled", got[len(got)-1].data["status"])
		<-ended
	})
}

func TestCallbackAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"":                             "",
		"http://localhost:63342":       "http://localhost:63342/tool-callback",
		"http://localhost:63342/":      "http://localhost:63342/tool-callback",
		"http://localhost:63342/x":     "http://localhost:63342/x",
		"http://127.0.0.1:63342/x?a=b": "http://127.0.0.1:63342/x?a=b",
		"https://[::1]:63342/x/":       "https://[::1]:63342/x/",
	} {
		got, err := rpc.CallbackAddress(address, false)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, address := range []string{"localhost:1", "ftp://localhost", "http://", "http://localhost.example.org", "http://10.0.0.1", "http://[fe80::1]", "%"} {
		_, err := rpc.CallbackAddress(address, false)
		assert.Equal(t, fault.Invalid, fault.KindOf(err), address)
	}
	got, err := rpc.CallbackAddress("http://10.0.0.1", true)
	require.NoError(t, err)
	assert.Equal(t, "http://10.0.0.1/tool-callback", got)
}

func TestScopesAreOfferedAndRememberedRulesRevoked(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Script = func(t *fake.Turn) {
			q := event.Question{ID: "q", Title: "Run"}
			q.SetNeeds(permission.ShellNeeds("git status -s")...)
			_, _ = t.Ask(q)
		}
		id := a.create(document{})
		s := a.open(id, "", "")
		a.send(id, "p")
		e := find(a, s.until("tool.approval"), "tool.approval")
		scopes, _ := e["scopes"].([]any)
		require.Len(a, scopes, 3)
		assert.Equal(a, document{"kind": "program", "label": "git status *", "rules": []any{"exec.run(git status *)"}}, scopes[1])
		a.must("question.answer", document{"sessionId": id, "callId": e["callId"], "approved": true, "remember": true, "scope": "program"})
		s.until("done")
		want := document{"exec.run(git status *)": "allow"}
		assert.Equal(a, document{"rules": want, "remembered": want}, a.must("session.permissions", document{"sessionId": id}))
		assert.Equal(a, document{"revoked": true}, a.must("session.revoke", document{"sessionId": id, "rule": "exec.run(git status *)"}))
		assert.Equal(a, document{"rules": document{}, "remembered": document{}}, a.must("session.permissions", document{"sessionId": id}))
	})
}
