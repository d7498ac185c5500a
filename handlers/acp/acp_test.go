package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/acp"
	"github.com/copilot-portal/portal/handlers/acp/acptest"
)

// document is decoded JSON.
type document = map[string]any

// everything are the capabilities of an editor that can show everything.
var everything = document{
	"session":     document{"compaction": document{}, "notices": document{}},
	"elicitation": document{"form": document{}, "url": document{}},
}

// fixture is a portal with scripted agents.
type fixture struct {
	*testing.T

	agents *fake.Agents
	host   *copilot.Host
	api    *acp.API
}

// serve runs a test in virtual time.
func serve(t *testing.T, script func(*fake.Turn), test func(*fixture)) {
	t.Helper()
	serveWith(t, copilot.Options{}, script, test)
}

// serveWith is serve with options.
func serveWith(t *testing.T, o copilot.Options, script func(*fake.Turn), test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		agents.Script = script
		agents.Models = []agent.Model{{ID: "one", Name: "One"}, {ID: "two", Name: "Two"}}
		agents.Extensions.Skills = []agent.Skill{{Name: "review", Description: "Reviews code", Enabled: true, Invocable: true}, {Name: "hidden", Enabled: true}}
		defer agents.Close()
		host := agents.NewHost(o)
		defer host.Close(t.Context())
		test(&fixture{t, agents, host, acp.New(acp.Options{Host: host, Version: "1"})})
	})
}

// editor is a client of the protocol. It records what it gets.
type editor struct {
	*fixture

	peer    *jsonrpc.Peer
	checker *acptest.Checker
	answer  func(ctx context.Context, method string, params document) (any, error)
	leave   func()
	busy    chan struct{} // holds a token while the editor reads nothing

	mu        sync.Mutex
	order     []string // the messages with texts and stop reasons
	updates   []document
	asked     []document
	withdrawn int
}

// checked checks the messages of both sides.
type checked struct {
	jsonrpc.Carrier

	editor *editor
}

func (c checked) Read() ([]byte, error) {
	m, err := c.Carrier.Read()
	c.editor.busy <- struct{}{}
	<-c.editor.busy
	if err == nil {
		c.editor.checker.Check(acptest.Agent, slices.Clone(m))
		c.editor.mu.Lock()
		defer c.editor.mu.Unlock()
		if text := string(m); strings.Contains(text, "stopReason") || strings.Contains(text, "agent_message_chunk") {
			c.editor.order = append(c.editor.order, text)
		}
	}
	return m, err
}

func (c checked) Write(messages [][]byte) error {
	for _, m := range messages {
		c.editor.checker.Check(acptest.Client, m)
	}
	return c.Carrier.Write(messages)
}

// connect connects an editor. It cannot answer questions unless its answer is set.
func (f *fixture) connect(capabilities document, o acp.Client) *editor {
	f.Helper()
	e := &editor{fixture: f, checker: acptest.New(f), busy: make(chan struct{}, 1)}
	in, toPortal := io.Pipe()
	fromPortal, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	served, ended := make(chan error, 1), make(chan error, 1)
	go func() { served <- f.api.Serve(ctx, jsonrpc.NewLines(in, out, jsonrpc.LineOptions{}), o) }()
	request := jsonrpc.Method{Handle: func(ctx context.Context, r *jsonrpc.Request) (any, error) {
		var params document
		if err := r.Decode(&params); err != nil {
			return nil, err
		}
		e.mu.Lock()
		e.asked = append(e.asked, params)
		e.mu.Unlock()
		return e.answer(ctx, r.Method, params)
	}}
	e.peer = jsonrpc.New(checked{jsonrpc.NewLines(fromPortal, toPortal, jsonrpc.LineOptions{}), e}, jsonrpc.Methods{
		"session/update":             {Handle: e.update, InOrder: true},
		"session/request_permission": request,
		"elicitation/create":         request,
		"fs/read_text_file":          request,
		"fs/write_text_file":         request,
		"$/cancel_request": {InOrder: true, Handle: func(context.Context, *jsonrpc.Request) (any, error) {
			e.withdrawn++
			return nil, nil
		}},
	}, jsonrpc.Options{})
	go func() { ended <- e.peer.Run(ctx) }()
	e.leave = sync.OnceFunc(func() {
		_ = toPortal.Close()
		<-served
		cancel()
		<-ended
		e.checker.Finish(f)
	})
	if capabilities == nil {
		capabilities = document{}
	}
	e.call("initialize", document{"protocolVersion": 1, "clientCapabilities": capabilities})
	return e
}

func (e *editor) update(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p struct{ Update document }
	err := r.Decode(&p)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, p.Update)
	return nil, err
}

// try calls a method.
func (e *editor) try(method string, params document) (document, error) {
	e.Helper()
	var result document
	err := e.peer.Call(e.Context(), method, params, &result)
	return result, err
}

func (e *editor) call(method string, params document) document {
	e.Helper()
	result, err := e.try(method, params)
	require.NoError(e, err, method)
	return result
}

func (e *editor) start() (session string) {
	e.Helper()
	session, _ = e.call("session/new", document{"cwd": "/", "mcpServers": []any{}})["sessionId"].(string)
	require.NotEmpty(e, session)
	return session
}

func prompting(session, text string) document {
	return document{"sessionId": session, "prompt": []any{document{"type": "text", "text": text}}}
}

// prompt sends a prompt and returns the reason of its end.
func (e *editor) prompt(session, text string) any {
	e.Helper()
	return e.call("session/prompt", prompting(session, text))["stopReason"]
}

// seen returns the updates of a kind so far.
func (e *editor) seen(kind string) (list []document) {
	time.Sleep(50 * time.Millisecond) // updates come in batches
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.updates {
		if u["sessionUpdate"] == kind {
			list = append(list, u)
		}
	}
	return list
}

// text returns the texts of the chunks of a kind so far, in one.
func (e *editor) text(kind string) string {
	var all strings.Builder
	for _, u := range e.seen(kind) {
		content, _ := u["content"].(document)
		text, _ := content["text"].(string)
		all.WriteString(text)
	}
	return all.String()
}

func TestPromptIsAnsweredBehindItsUpdates(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		t.Think("hm")
		t.Say("I heard " + t.Prompt)
	}, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		assert.Equal(t, "end_turn", e.prompt(session, "hello"))
		assert.Equal(t, "I heard hello", e.text("agent_message_chunk"))
		assert.Equal(t, "hm", e.text("agent_thought_chunk"))
		assert.Empty(t, e.seen("user_message_chunk"), "the editor shows its prompts itself")
		e.leave()
	})
}

func TestSessionHasModesModelsAndCommands(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Say(t.Model + " " + string(t.Mode)) }, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		opened := e.call("session/new", document{"cwd": "/", "mcpServers": []any{}})
		session := opened["sessionId"].(string)
		assert.Equal(t, "interactive", opened["modes"].(document)["currentModeId"])
		e.call("session/set_mode", document{"sessionId": session, "modeId": "plan"})
		changed := e.call("session/set_config_option", document{"sessionId": session, "configId": "model", "value": "two"})
		assert.Equal(t, "two", changed["configOptions"].([]any)[1].(document)["currentValue"])
		e.prompt(session, "who?")
		assert.Equal(t, "two plan", e.text("agent_message_chunk"))
		e.call("session/set_config_option", document{"sessionId": session, "configId": "mode", "value": "autopilot"})
		assert.Equal(t, "autopilot", e.seen("current_mode_update")[0]["currentModeId"])
		commands := e.seen("available_commands_update")[0]["availableCommands"].([]any)
		assert.Equal(t, "compact", commands[0].(document)["name"])
		assert.Equal(t, "review", commands[1].(document)["name"])
		assert.Len(t, commands, 2, "skills that the user cannot invoke are no commands")
		for method, params := range map[string]document{
			"session/set_mode":          {"sessionId": session, "modeId": "no such mode"},
			"session/set_config_option": {"sessionId": session, "configId": "no such option", "value": "x"},
		} {
			_, err := e.try(method, params)
			require.ErrorContains(t, err, "no such", method)
		}
		e.leave()
	})
}

func TestPromptRightBehindAModeHasThatMode(t *testing.T) {
	for method, params := range map[string]document{
		"session/set_mode":          {"modeId": "plan"},
		"session/set_config_option": {"configId": "mode", "value": "plan"},
	} {
		t.Run(method, func(t *testing.T) {
			serve(t, func(t *fake.Turn) { t.Say(string(t.Mode)) }, func(t *fixture) {
				e := t.connect(nil, acp.Client{})
				params["sessionId"] = e.start()
				mode, err := e.peer.Begin(t.Context(), nil, method, params)
				require.NoError(t, err)
				prompt, err := e.peer.Begin(t.Context(), nil, "session/prompt", prompting(params["sessionId"].(string), "which?"))
				require.NoError(t, err)
				require.NoError(t, mode.Await(t.Context(), nil))
				require.NoError(t, prompt.Await(t.Context(), nil))
				assert.Equal(t, "plan", e.text("agent_message_chunk"))
				e.leave()

				next := t.connect(nil, acp.Client{})
				loaded := next.call("session/resume", document{"sessionId": params["sessionId"], "cwd": "/"})
				assert.Equal(t, "plan", loaded["modes"].(document)["currentModeId"])
				next.leave()
			})
		})
	}
}

func TestMessageSaysWhichParameterIsWrong(t *testing.T) {
	serve(t, nil, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		for want, params := range map[string]document{
			`"sessionId" must be a string`: {"sessionId": 1},
			`"prompt.0": use a text`:       {"sessionId": session, "prompt": []any{document{"type": "audio", "data": "", "mimeType": "audio/wav"}}},
		} {
			_, err := e.try("session/prompt", params)
			refused, ok := errors.AsType[*jsonrpc.Error](err)
			require.True(t, ok, err)
			assert.Equal(t, jsonrpc.CodeInvalidParams, refused.Code)
			assert.Contains(t, refused.Message, want)
		}
		synctest.Wait()
		e.checker.Violations = nil // one was on purpose
		e.leave()
	})
}

func TestSessionIsUsedByOtherClientsAtTheSameTime(t *testing.T) {
	serve(t, nil, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		s, err := t.host.Session(t.Context(), session)
		require.NoError(t, err)
		_, err = s.Prompt(event.Prompt{Text: "from the browser", By: "ui"})
		require.NoError(t, err)
		assert.Equal(t, "from the browser", e.text("user_message_chunk"))
		assert.Contains(t, e.text("agent_message_chunk"), "from the browser")
		e.leave()
	})
}

func TestLoadReplaysEverythingBeforeItsResponse(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		t.Call("bash", `{"command": "make"}`, "made")
		t.Say("done: " + t.Prompt)
	}, func(t *fixture) {
		first := t.connect(nil, acp.Client{})
		session := first.start()
		first.prompt(session, "one")
		first.prompt(session, "two")
		first.leave()

		e := t.connect(nil, acp.Client{})
		e.call("session/load", document{"sessionId": session, "cwd": "/", "mcpServers": []any{}})
		e.mu.Lock()
		atResponse := len(e.updates)
		e.mu.Unlock()
		assert.Equal(t, "onetwo", e.text("user_message_chunk"))
		assert.Equal(t, "done: onedone: two", e.text("agent_message_chunk"))
		require.Len(t, e.seen("tool_call"), 2)
		assert.Equal(t, "make", e.seen("tool_call")[0]["title"])
		assert.GreaterOrEqual(t, atResponse, 8)
		e.prompt(session, "three")
		assert.True(t, strings.HasSuffix(e.text("agent_message_chunk"), "done: three"))
		e.leave()
	})
}

func TestJoinedTextIsComplete(t *testing.T) {
	proceed := make(chan struct{})
	serve(t, func(t *fake.Turn) {
		t.Emit(event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: "first "})
		<-proceed
		t.Emit(event.MessageDelta{ID: "m", Text: "second"}, event.MessageEnded{ID: "m", Text: "first second"})
	}, func(t *fixture) {
		proceed = make(chan struct{})
		first := t.connect(nil, acp.Client{})
		session := first.start()
		ended := make(chan any, 1)
		go func() { ended <- first.prompt(session, "go") }()
		synctest.Wait()
		load, resume := t.connect(nil, acp.Client{}), t.connect(nil, acp.Client{})
		load.call("session/load", document{"sessionId": session, "cwd": "/", "mcpServers": []any{}})
		resume.call("session/resume", document{"sessionId": session, "cwd": "/"})
		assert.Equal(t, "first ", load.text("agent_message_chunk"))
		close(proceed)
		<-ended
		for _, e := range []*editor{first, load} {
			assert.Equal(t, "first second", e.text("agent_message_chunk"))
		}
		assert.Equal(t, "second", resume.text("agent_message_chunk"), "resume sends nothing of the past")
		first.leave()
		load.leave()
		resume.leave()
	})
}

func TestToolCallsHaveKindTitleLocationAndChange(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		t.Call("edit", `{"path": "/a/b.go", "old_str": "x", "new_str": "y"}`, "edited")
		t.Emit(event.ToolStarted{ID: "1", Name: "bash", Arguments: json.RawMessage(`{"command": "false"}`)},
			event.ToolOutput{ID: "1", Text: "some output"},
			event.ToolEnded{ID: "1", Result: &event.ToolResult{Content: "exit 1"}, Error: &event.ToolError{Text: "failed", Code: event.CodeExit}})
		t.Emit(event.PlanChanged{Todos: []event.Todo{{ID: "1", Title: "first", State: event.TodoRunning}}})
		t.Emit(event.UsageChanged{Used: 5, Limit: 100})
	}, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		e.prompt(e.start(), "go")
		calls, updates := e.seen("tool_call"), e.seen("tool_call_update")
		require.Len(t, calls, 2)
		assert.Equal(t, "Edit a/b.go", calls[0]["title"])
		assert.Equal(t, "edit", calls[0]["kind"])
		assert.Equal(t, []any{document{"path": "/a/b.go"}}, calls[0]["locations"])
		ended := slices.IndexFunc(updates, func(u document) bool { return u["toolCallId"] == calls[0]["toolCallId"] && u["status"] != nil })
		assert.Equal(t, []any{document{"type": "diff", "path": "/a/b.go", "oldText": "x", "newText": "y"}}, updates[ended]["content"])
		assert.Equal(t, "completed", updates[ended]["status"])
		assert.Equal(t, "false", calls[1]["title"])
		assert.Equal(t, "failed", updates[len(updates)-1]["status"])
		assert.Equal(t, []any{document{"content": "first", "priority": "medium", "status": "in_progress"}}, e.seen("plan")[0]["entries"])
		assert.InEpsilon(t, 100, e.seen("usage_update")[0]["size"], 0)
		e.leave()
	})
}

// command is a question for permission to run a command.
func command() event.Question {
	return event.Question{Kind: event.AskPermission, Names: []string{permission.Exec}, Title: "rm x", Detail: "rm x"}
}

func TestPermissionIsAskedWithScopes(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		a, _ := t.Ask(command())
		t.Say(map[bool]string{true: "allowed", false: "refused"}[a.Approved])
	}, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		for option, want := range map[string]string{"allow": "allowed", "reject": "refused", "no such option": "refused"} {
			e.answer = func(context.Context, string, document) (any, error) {
				return document{"outcome": document{"outcome": "selected", "optionId": option}}, nil
			}
			e.prompt(session, "go")
			assert.True(t, strings.HasSuffix(e.text("agent_message_chunk"), want), option)
		}
		offered := e.asked[0]["options"].([]any)
		assert.Equal(t, "allow_once", offered[0].(document)["kind"])
		assert.Equal(t, "reject_once", offered[len(offered)-1].(document)["kind"])
		call := e.asked[0]["toolCall"].(document)
		assert.Equal(t, "execute", call["kind"])
		assert.Equal(t, "Run rm x", call["title"])
		e.leave()
	})
}

func TestAnswerFromElsewhereWithdrawsTheQuestion(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Ask(command()) }, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		e.answer = func(ctx context.Context, _ string, _ document) (any, error) {
			<-ctx.Done() // the user does not look at the editor
			return nil, ctx.Err()
		}
		session := e.start()
		ended := make(chan any, 1)
		go func() { ended <- e.prompt(session, "go") }()
		require.Empty(t, e.seen("agent_message_chunk"))
		s, err := t.host.Session(t.Context(), session)
		require.NoError(t, err)
		var asked event.Question
		for n := uint64(0); asked.ID == ""; n++ {
			entries, err := s.Record().Next(t.Context(), n, 1)
			require.NoError(t, err)
			if q, ok := entries[0].Value.Body.(event.QuestionAsked); ok {
				asked = q.Question
			}
		}
		require.NoError(t, s.Answer(asked.ID, event.Answer{Approved: true}, "ui"))
		assert.Equal(t, "end_turn", <-ended)
		synctest.Wait()
		assert.Len(t, e.asked, 1)
		assert.Equal(t, 1, e.withdrawn)
		e.leave()
	})
}

func TestQuestionsOfAllKindsAreAsked(t *testing.T) {
	one, ten := 1.0, 10.0
	kinds := []struct {
		question event.Question
		reply    document
		want     event.Answer
	}{
		{
			event.Question{Kind: event.AskInput, Text: "which?", Freeform: true},
			document{"action": "accept", "content": document{"answer": "this"}},
			event.Answer{Text: "this"},
		},
		{
			event.Question{Kind: event.AskForm, Text: "fill", Form: &event.Form{Fields: []event.Field{
				{Name: "n", Type: event.FieldInteger, Required: true, Min: &one, Max: &ten},
				{Name: "b", Type: event.FieldBoolean},
				{Name: "l", Type: event.FieldList, Choices: []event.Choice{{Value: "x"}}},
				{Name: "t", Type: event.FieldText, Choices: []event.Choice{{Value: "y"}}},
			}}},
			document{"action": "accept", "content": document{"n": 5}},
			event.Answer{Approved: true, Fields: document{"n": 5.0}},
		},
		{
			event.Question{Kind: event.AskPlan, Text: "1. do it", Choices: []string{"autopilot", "interactive"}},
			document{"outcome": document{"outcome": "selected", "optionId": "choice:1"}},
			event.Answer{Approved: true, Text: "interactive"},
		},
		{
			event.Question{Kind: event.AskSignIn, Text: "sign in", URL: "https://example.org/", Source: "server"},
			document{"action": "decline"},
			event.Answer{},
		},
	}
	serve(t, func(t *fake.Turn) {
		for _, k := range kinds {
			a, _ := t.AskAlways(k.question)
			encoded, _ := json.Marshal(a)
			t.Say(string(encoded))
		}
	}, func(t *fixture) {
		e := t.connect(everything, acp.Client{})
		asked := 0
		e.answer = func(context.Context, string, document) (any, error) {
			asked++
			return kinds[asked-1].reply, nil
		}
		e.prompt(e.start(), "go")
		var want strings.Builder
		for _, k := range kinds {
			encoded, err := json.Marshal(k.want)
			require.NoError(t, err)
			want.Write(encoded)
		}
		assert.Equal(t, want.String(), e.text("agent_message_chunk"))
		e.leave()
	})
}

func TestCancelRightBehindAPromptIsNotLost(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.WaitForAbort() }, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		for range 50 {
			pending, err := e.peer.Begin(t.Context(), nil, "session/prompt", prompting(session, "go"))
			require.NoError(t, err)
			require.NoError(t, e.peer.Notify(t.Context(), "session/cancel", document{"sessionId": session}))
			var result document
			require.NoError(t, pending.Await(t.Context(), &result))
			require.Equal(t, "cancelled", result["stopReason"])
		}
		pending, err := e.peer.Begin(t.Context(), nil, "session/prompt", prompting(session, "go"))
		require.NoError(t, err)
		require.NoError(t, e.peer.Notify(t.Context(), "$/cancel_request", document{"requestId": pending.ID()}))
		require.NoError(t, pending.Await(t.Context(), nil))
		e.leave()
	})
}

func TestFailureIsAnErrorThatSaysWhy(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Kill() }, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		_, err := e.try("session/prompt", prompting(session, "go"))
		var refused *jsonrpc.Error
		require.ErrorAs(t, err, &refused)
		assert.NotEqual(t, "Internal error", refused.Message)
		again := t.connect(nil, acp.Client{})
		again.call("session/load", document{"sessionId": session, "cwd": "/", "mcpServers": []any{}})
		assert.Contains(t, again.text("agent_message_chunk"), "The run failed")
		e.leave()
		again.leave()
	})
}

func TestEndOfInputCancelsOnlyRunsOfAPortalOfItsOwn(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.WaitForAbort() }, func(t *fixture) {
		for ofItsOwn, want := range map[bool]copilot.State{true: copilot.StateIdle, false: copilot.StateRunning} {
			e := t.connect(nil, acp.Client{OnlyClient: ofItsOwn})
			session := e.start()
			_, err := e.peer.Begin(t.Context(), nil, "session/prompt", prompting(session, "go"))
			require.NoError(t, err)
			synctest.Wait()
			e.leave()
			s, err := t.host.Session(t.Context(), session)
			require.NoError(t, err)
			assert.Equal(t, want, s.Info().State)
		}
	})
}

func TestSessionsAreListedClosedAndDeleted(t *testing.T) {
	serve(t, nil, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		e.prompt(session, "hello")
		for directory, want := range map[string]int{"": 1, "/": 1, "/elsewhere": 0} {
			params := document{}
			if directory != "" {
				params["cwd"] = directory
			}
			assert.Len(t, e.call("session/list", params)["sessions"], want, directory)
		}
		e.call("session/close", document{"sessionId": session})
		_, err := e.try("session/prompt", prompting(session, "more"))
		require.ErrorContains(t, err, "load it first")
		e.call("session/delete", document{"sessionId": session})
		_, err = e.try("session/load", document{"sessionId": session, "cwd": "/", "mcpServers": []any{}})
		require.ErrorContains(t, err, "no such session")
		e.leave()
	})
}

func TestContentOfPrompts(t *testing.T) {
	var got fake.Turn
	serve(t, func(t *fake.Turn) { got.Prompt, got.Attachments = t.Prompt, t.Attachments }, func(t *fixture) {
		dir := t.TempDir()
		e := t.connect(nil, acp.Client{})
		e.call("session/prompt", document{"sessionId": e.start(), "prompt": []any{
			document{"type": "text", "text": "look at "},
			document{"type": "resource_link", "uri": "file://" + dir, "name": "dir"},
			document{"type": "text", "text": " and "},
			document{"type": "resource", "resource": document{"uri": "file:///a/unsaved.go", "text": "package a\n\nvar b int\n"}},
			document{"type": "image", "data": "aGk=", "mimeType": "image/png"},
		}})
		assert.Equal(t, "look at @dir and @unsaved.go", got.Prompt)
		require.Len(t, got.Attachments, 3)
		assert.Equal(t, dir, got.Attachments[0].Path)
		assert.Equal(t, event.Attachment{Path: "/a/unsaved.go", First: 1, Last: 3, Text: "package a\n\nvar b int\n", Name: "unsaved.go"}, got.Attachments[1])
		assert.Equal(t, "image/png", got.Attachments[2].Type)
		_, err := e.try("session/prompt", document{"sessionId": e.start(), "prompt": []any{document{"type": "text", "text": ""}}})
		require.ErrorContains(t, err, "empty")
		e.leave()
	})
}

func TestOutputOfARunningToolIsShownInTime(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		t.Emit(event.ToolStarted{ID: "1", Name: "bash", Arguments: json.RawMessage(`{"command": "make"}`)})
		for range 100 {
			t.Emit(event.ToolOutput{ID: "1", Text: "line\n"})
			t.Wait(10 * time.Millisecond)
		}
		t.WaitForAbort()
	}, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		pending, err := e.peer.Begin(t.Context(), nil, "session/prompt", prompting(session, "go"))
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		updates := e.seen("tool_call_update")
		assert.Less(t, len(updates), 10, "updates replace each other, so few are enough")
		last := updates[len(updates)-1]["content"].([]any)[0].(document)["content"].(document)["text"].(string)
		assert.Equal(t, 100, strings.Count(last, "line"))
		require.NoError(t, e.peer.Notify(t.Context(), "session/cancel", document{"sessionId": session}))
		require.NoError(t, pending.Await(t.Context(), nil))
		e.leave()
	})
}

func TestPermissionShowsWhatItIsFor(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		t.Emit(event.ToolStarted{ID: "1", Name: "bash", Arguments: json.RawMessage(`{"command": "curl evil", "path": "README.md", "file_text": "hello"}`)})
		q := command()
		q.Call, q.Title, q.Detail = "1", "curl evil", "curl evil"
		t.Ask(q)
	}, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		e.answer = func(context.Context, string, document) (any, error) {
			return document{"outcome": document{"outcome": "selected", "optionId": "reject"}}, nil
		}
		e.prompt(e.start(), "go")
		call := e.asked[0]["toolCall"].(document)
		assert.Equal(t, "Run curl evil", call["title"])
		assert.Equal(t, "execute", call["kind"])
		assert.Equal(t, []any{document{"type": "content", "content": document{"type": "text", "text": "curl evil"}}}, call["content"])
		e.leave()
	})
}

func TestUpdatesOfTheNextRunFollowTheResponse(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Say(t.Prompt + ";") }, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		for range 20 {
			e.mu.Lock()
			e.updates = nil
			e.mu.Unlock()
			first, err := e.peer.Begin(t.Context(), nil, "session/prompt", prompting(session, "one"))
			require.NoError(t, err)
			second, err := e.peer.Begin(t.Context(), nil, "session/prompt", prompting(session, "two"))
			require.NoError(t, err)
			require.NoError(t, first.Await(t.Context(), nil))
			require.NoError(t, second.Await(t.Context(), nil))
			require.Equal(t, "one;two;", e.text("agent_message_chunk"))
		}
		requests, order := 0, []string{}
		for _, m := range e.order {
			if strings.Contains(m, "stopReason") {
				requests++
			}
			order = append(order, m)
		}
		require.Equal(t, 40, requests)
		for i, m := range order {
			if strings.Contains(m, "two;") {
				require.True(t, slices.ContainsFunc(order[max(0, i-3):i], func(m string) bool { return strings.Contains(m, "stopReason") }), order[max(0, i-3):i+1])
			}
		}
		e.leave()
	})
}

func TestQueuedPromptOfAClosedSessionIsAnswered(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.WaitForAbort() }, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		first, err := e.peer.Begin(t.Context(), nil, "session/prompt", prompting(session, "one"))
		require.NoError(t, err)
		second, err := e.peer.Begin(t.Context(), nil, "session/prompt", prompting(session, "two"))
		require.NoError(t, err)
		synctest.Wait()
		s, err := t.host.Session(t.Context(), session)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, s.Reopen(t.Context()))
		_, err = s.Prompt(event.Prompt{Text: "of another client", By: "ui"})
		require.NoError(t, err)
		_ = first.Await(t.Context(), nil)
		require.Error(t, second.Await(t.Context(), nil))
		e.leave()
	})
}

func TestRequestsForOneSessionDoNotWaitForEachOther(t *testing.T) {
	serve(t, nil, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		var calls []*jsonrpc.PendingCall
		for range 10 {
			call, err := e.peer.Begin(t.Context(), nil, "session/load", document{"sessionId": session, "cwd": "/", "mcpServers": []any{}})
			require.NoError(t, err)
			calls = append(calls, call)
		}
		for _, call := range calls {
			require.NoError(t, call.Await(t.Context(), nil))
		}
		e.prompt(session, "hello")
		assert.Equal(t, 1, strings.Count(e.text("agent_message_chunk"), "hello"), "one of them follows the session")
		_, err := e.try("session/delete", document{"sessionId": session})
		require.NoError(t, err)
		e.leave()
	})
}

func TestQuestionThatNobodyCanAnswerIsRefused(t *testing.T) {
	questions := []event.Question{{Kind: event.AskInput, Text: "which?", Freeform: true}, {Kind: event.AskForm, Text: "fill", Form: &event.Form{}}, command()}
	serve(t, func(t *fake.Turn) {
		for _, q := range questions {
			_, ok := t.AskAlways(q)
			t.Say(map[bool]string{true: "answered;", false: "open;"}[ok])
		}
	}, func(t *fixture) {
		e := t.connect(nil, acp.Client{OnlyClient: true})
		e.answer = func(context.Context, string, document) (any, error) { return nil, jsonrpc.MethodNotFound("it") }
		assert.Equal(t, "end_turn", e.prompt(e.start(), "go"))
		assert.Equal(t, 3, strings.Count(e.text("agent_message_chunk"), "answered;"))
		assert.Contains(t, e.text("agent_message_chunk"), "which?", "the user sees what was asked")
		e.leave()
	})
}

func TestInvalidFormIsAskedAgain(t *testing.T) {
	ten := 10.0
	form := event.Question{Kind: event.AskForm, Text: "fill", Form: &event.Form{Fields: []event.Field{{Name: "n", Type: event.FieldInteger, Required: true, Max: &ten}}}}
	serve(t, func(t *fake.Turn) {
		a, _ := t.AskAlways(form)
		encoded, _ := json.Marshal(a.Fields)
		t.Say(string(encoded))
	}, func(t *fixture) {
		e := t.connect(everything, acp.Client{})
		answers := []int{20, 10}
		e.answer = func(context.Context, string, document) (any, error) {
			n := answers[0]
			answers = answers[1:]
			return document{"action": "accept", "content": document{"n": n}}, nil
		}
		e.prompt(e.start(), "go")
		assert.Equal(t, `{"n":10}`, e.text("agent_message_chunk"))
		assert.NotEqual(t, "fill", e.asked[1]["message"], "it says what was wrong")
		e.leave()
	})
}

func TestTextBehindDroppedPiecesIsComplete(t *testing.T) {
	texts := acp.EncodeTexts(
		acp.Entry(1, false, event.MessageStarted{ID: "m"}), acp.Entry(2, false, event.MessageDelta{ID: "m", Text: "HEAD "}),
		acp.Entry(8, true, event.MessageDelta{ID: "m", Text: "tail"}), acp.Entry(9, false, event.MessageEnded{ID: "m", Text: "HEAD and tail"}),
	)
	assert.Equal(t, "HEAD and tail", texts)
}

func TestLinesOfResources(t *testing.T) {
	for uri, want := range map[string][2]int{
		"file:///a.go": {0, 0}, "file:///a.go#L5": {5, 5}, "file:///a.go#L5:9": {5, 9}, "file:///a.go#L5-L9": {5, 9}, "file:///a.go#other": {0, 0},
	} {
		first, last := acp.Lines(uri)
		assert.Equal(t, want, [2]int{first, last}, uri)
	}
}
