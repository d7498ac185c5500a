package acp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
)

func approve(c agent.Conversation, q event.Question) {
	_ = c.Answer(context.Background(), q, event.Answer{Approved: true}) // it is no error if it comes too late
}

func TestCallThatNeverEndsIsEndedWithTheTurn(t *testing.T) {
	s := script(t, "x", prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
		send(ctx, p, `{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Look","kind":"read","rawInput":{"path":"/a"}}`)
		return "end_turn"
	}))
	list := s.run(nil)
	started, ended := find[event.ToolStarted](t, list), find[event.ToolEnded](t, list)
	assert.Equal(t, "view", started.Name)
	assert.Equal(t, "c1", ended.ID)
	assert.NotNil(t, ended.Error)
}

func TestPlaceholderOfACallIsNotReported(t *testing.T) {
	s := script(t, "x", prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
		send(ctx, p, `{"sessionUpdate":"tool_call","toolCallId":"c1","title":"bash","kind":"execute","status":"pending","rawInput":{"cwd":"/repo"}}`)
		send(ctx, p, `{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","title":"make","rawInput":{"command":"make","cwd":"/repo"}}`)
		send(ctx, p, `{"sessionUpdate":"tool_call_update","toolCallId":"c1","content":[{"type":"content","content":{"type":"text","text":"one\n"}}]}`)
		send(ctx, p, `{"sessionUpdate":"tool_call_update","toolCallId":"c1","content":[{"type":"content","content":{"type":"text","text":"one\ntwo\n"}}]}`)
		send(ctx, p, `{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`)
		send(ctx, p, `{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`)
		return "end_turn"
	}))
	list := s.run(nil)
	assert.JSONEq(t, `{"command":"make","cwd":"/repo"}`, string(find[event.ToolStarted](t, list).Arguments))
	var output strings.Builder
	ends := 0
	for _, b := range list {
		switch b := b.(type) {
		case event.ToolOutput:
			output.WriteString(b.Text)
		case event.ToolEnded:
			ends++
			assert.Equal(t, "one\ntwo\n", b.Result.Content)
		}
	}
	assert.Equal(t, "one\ntwo\n", output.String())
	assert.Equal(t, 1, ends)
}

func TestCancellationThatNobodyAskedForIsAnError(t *testing.T) {
	for reason, kind := range map[string]fault.Kind{"cancelled": fault.Unavailable, "max_tokens": fault.Unavailable, "max_turn_requests": fault.Unavailable, "refusal": fault.Denied} {
		t.Run(reason, func(t *testing.T) {
			s := script(t, "x", prompted(func(context.Context, *jsonrpc.Peer) string { return reason }))
			list := s.run(nil)
			failed := find[event.SessionError](t, list)
			assert.Equal(t, kind, failed.Kind)
			assert.NotEmpty(t, failed.Text)
			assert.False(t, find[event.Idle](t, list).Aborted)
		})
	}
}

func TestCancelIsRepeatedUntilTheTurnEnds(t *testing.T) { synctest.Test(t, cancelIsRepeated) }

func cancelIsRepeated(t *testing.T) {
	t.Helper()
	cancelled := make(chan struct{}, 10)
	methods := prompted(func(ctx context.Context, _ *jsonrpc.Peer) string {
		for range 2 { // the first is ignored
			select {
			case <-cancelled:
			case <-ctx.Done():
			}
		}
		return "cancelled"
	})
	methods["session/cancel"] = signalling(cancelled)
	s := script(t, "x", methods)
	c, bodies := s.open(t.TempDir())
	require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "go"}))
	require.NoError(t, c.Abort(t.Context()))
	awaitAborted(t, bodies)
}

// signalling returns a method for notifications that signals each.
func signalling(to chan<- struct{}) jsonrpc.Method {
	return jsonrpc.Method{Handle: func(context.Context, *jsonrpc.Request) (any, error) {
		to <- struct{}{}
		return nil, nil //nolint:nilnil // a notification has no result
	}}
}

func TestPromptCancelledByALateCancellationIsSentAgain(t *testing.T) {
	cancelled, prompts := make(chan struct{}, 10), 0
	methods := prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
		prompts++
		switch prompts {
		case 1:
			<-cancelled
			return "cancelled"
		case 2: // the agent takes the cancellation of the first prompt for one of this prompt
			return "cancelled"
		}
		send(ctx, p, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}`)
		return "end_turn"
	})
	methods["session/cancel"] = signalling(cancelled)
	s := script(t, "x", methods)
	c, bodies := s.open(t.TempDir())
	require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "go"}))
	require.NoError(t, c.Abort(t.Context()))
	awaitAborted(t, bodies)
	list := s.prompt(c, bodies, nil)
	assert.Equal(t, "hello", find[event.MessageEnded](t, list).Text)
	for _, b := range list {
		assert.IsNotType(t, event.SessionError{}, b)
	}
	assert.Equal(t, 3, prompts)
}

func TestPromptThatIsAbortedBeforeItsRepetitionIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled, prompts := make(chan struct{}, 10), 0
		methods := prompted(func(context.Context, *jsonrpc.Peer) string {
			prompts++
			if prompts == 1 {
				<-cancelled
			}
			return "cancelled"
		})
		methods["session/cancel"] = signalling(cancelled)
		s := script(t, "x", methods)
		c, bodies := s.open(t.TempDir())
		for range 2 {
			require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "go"}))
			synctest.Wait()
			require.NoError(t, c.Abort(t.Context()))
			awaitAborted(t, bodies)
		}
		assert.Equal(t, 2, prompts)
	})
}

// awaitAborted waits until an aborted turn has ended.
func awaitAborted(t *testing.T, bodies <-chan event.Body) {
	t.Helper()
	for b := range bodies {
		if idle, ok := b.(event.Idle); ok {
			require.True(t, idle.Aborted)
			return
		}
	}
}

func TestAgentThatCannotLoadSurvivesItsOwnCancellation(t *testing.T) {
	prompts := 0
	methods := prompted(func(context.Context, *jsonrpc.Peer) string {
		prompts++
		if prompts == 1 {
			return "cancelled"
		}
		return "end_turn"
	})
	methods["initialize"] = answer(`{"protocolVersion":1,"agentCapabilities":{}}`)
	s := script(t, "x", methods)
	c, bodies := s.open(t.TempDir())
	find[event.SessionError](t, s.prompt(c, bodies, nil))
	for _, b := range s.prompt(c, bodies, nil) {
		assert.IsNotType(t, event.SessionError{}, b)
	}
}

func TestUpdatesOfUnknownSessionsAreIgnored(t *testing.T) {
	s := script(t, "x", jsonrpc.Methods{"session/new": {Handle: func(ctx context.Context, r *jsonrpc.Request) (any, error) {
		send(ctx, r.Peer, `{"sessionUpdate":"available_commands_update","availableCommands":[]}`)
		send(ctx, r.Peer, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"early"}}`)
		return document{"sessionId": "s1"}, nil
	}}})
	for _, b := range s.run(nil) {
		_, text := b.(event.MessageStarted)
		assert.False(t, text)
	}
}

func TestUnknownUpdateIsKept(t *testing.T) {
	s := script(t, "x", prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
		send(ctx, p, `{"sessionUpdate":"plan_update","news":1}`)
		return "end_turn"
	}))
	notice := find[event.Notice](t, s.run(nil))
	assert.Equal(t, "acp.plan_update", notice.Kind)
	assert.JSONEq(t, `{"sessionUpdate":"plan_update","news":1}`, string(notice.Raw))
}

func TestPlanBecomesToDos(t *testing.T) {
	s := script(t, "x", prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
		send(ctx, p, `{"sessionUpdate":"plan","entries":[{"content":"read","status":"completed"},{"content":"write","status":"in_progress"},{"content":"rest","status":"pending"}]}`)
		return "end_turn"
	}))
	assert.Equal(t, []event.Todo{
		{ID: "1", Title: "read", State: event.TodoCompleted}, {ID: "2", Title: "write", State: event.TodoRunning}, {ID: "3", Title: "rest", State: event.TodoPending},
	}, find[event.PlanChanged](t, s.run(nil)).Todos)
}

func TestSessionThatIgnoresCancelIsClosedAndResumed(t *testing.T) {
	synctest.Test(t, sessionThatIgnoresCancel)
}

func sessionThatIgnoresCancel(t *testing.T) {
	t.Helper()
	closed := make(chan struct{})
	methods := prompted(func(ctx context.Context, _ *jsonrpc.Peer) string {
		<-ctx.Done()
		return "end_turn"
	})
	methods["initialize"] = answer(`{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"close":{}}}}`)
	methods["session/close"] = jsonrpc.Method{Handle: func(context.Context, *jsonrpc.Request) (any, error) {
		close(closed)
		return document{}, nil
	}}
	s := script(t, "x", methods)
	c, bodies := s.open(t.TempDir())
	require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "go"}))
	require.NoError(t, c.Abort(t.Context()))
	awaitAborted(t, bodies)
	<-closed
	assert.Contains(t, s.calls(), "session/close")
	require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "again"}))
	assert.Contains(t, s.calls(), "session/load", "the next prompt loads it")
}

// An agent asks for the permission to change a file, and then writes it through the portal.
func TestFilesAreServedInsideTheDirectory(t *testing.T) {
	directory := t.TempDir()
	inside, outside := filepath.Join(directory, "sub", "a.txt"), filepath.Join(t.TempDir(), "b.txt")
	var got struct{ Content string }
	results := map[string]error{}
	s := script(t, "x", prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
		var r document
		results["permission"] = p.Call(ctx, "session/request_permission", document{
			"sessionId": "s1", "toolCall": document{"toolCallId": "c1", "kind": "edit", "locations": []document{{"path": inside}}},
			"options": []document{{"optionId": "yes", "kind": "allow_once", "name": "Yes"}, {"optionId": "no", "kind": "reject_once", "name": "No"}},
		}, &r)
		results["write"] = p.Call(ctx, "fs/write_text_file", document{"sessionId": "s1", "path": inside, "content": "one\ntwo\nthree\n"}, nil)
		results["read"] = p.Call(ctx, "fs/read_text_file", document{"sessionId": "s1", "path": inside, "line": 2, "limit": 1}, &got)
		results["outside"] = p.Call(ctx, "fs/write_text_file", document{"sessionId": "s1", "path": outside, "content": "x"}, nil)
		return "end_turn"
	}))
	c, bodies := s.open(directory)
	var asked []string
	s.prompt(c, bodies, func(c agent.Conversation, q event.Question) {
		asked = append(asked, q.Names[0]+" "+filepath.Base(q.AllNeeds()[0].Target))
		approve(c, q)
	})
	assert.Equal(t, []string{"fs.write a.txt", "fs.read a.txt"}, asked, "what is granted is not asked again, and what is refused not at all")
	assert.Equal(t, "two\n", got.Content)
	require.NoError(t, results["permission"])
	require.NoError(t, results["write"])
	require.NoError(t, results["read"])
	require.ErrorContains(t, results["outside"], "outside of the working directory")
	text, err := os.ReadFile(inside)
	require.NoError(t, err)
	assert.Equal(t, "one\ntwo\nthree\n", string(text))
	assert.NoFileExists(t, outside)
}

func TestRefusedFileIsNotWritten(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(directory, "a.txt")
	var refused error
	s := script(t, "x", prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
		refused = p.Call(ctx, "fs/write_text_file", document{"sessionId": "s1", "path": file, "content": "x"}, nil)
		return "end_turn"
	}))
	c, bodies := s.open(directory)
	s.prompt(c, bodies, func(c agent.Conversation, q event.Question) { _ = c.Answer(t.Context(), q, event.Answer{}) })
	require.Error(t, refused)
	assert.NoFileExists(t, file)
}

func TestForgottenQuestionsDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(ctx context.Context, p *jsonrpc.Peer, call string) error {
			return p.Call(ctx, "session/request_permission", document{
				"sessionId": "s1", "toolCall": document{"toolCallId": call, "kind": "execute", "rawInput": document{"command": "ls"}},
				"options": []document{{"optionId": "yes", "kind": "allow_once", "name": "Yes"}},
			}, nil)
		}
		var forgotten sync.WaitGroup
		defer forgotten.Wait()
		s := script(t, "x", prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
			for range 150 {
				forgotten.Go(func() { _ = ask(ctx, p, "forgotten") }) // withdrawn at the end of the turn
			}
			synctest.Wait()
			assert.NoError(t, ask(ctx, p, "answered"))
			return "end_turn"
		}))
		s.run(func(c agent.Conversation, q event.Question) {
			if q.Call == "answered" {
				approve(c, q)
			}
		})
	})
}

func TestMissingSignInIsReported(t *testing.T) {
	s := script(t, "x", jsonrpc.Methods{
		"initialize": answer(`{"protocolVersion":1,"authMethods":[{"id":"login","name":"Log in","description":"Run x login"}]}`),
		"session/new": {Handle: func(context.Context, *jsonrpc.Request) (any, error) {
			return nil, jsonrpc.Errorf(-32000, "Authentication required", "")
		}},
	})
	a := s.launch()
	_, err := a.Open(t.Context(), agent.Opening{Session: "p", Model: "x/default", Directory: t.TempDir()}, func(string, event.Body) {})
	require.ErrorContains(t, err, "Run x login")
	assert.Equal(t, fault.Unavailable, fault.KindOf(err))
	assert.Equal(t, agent.HealthSignedOut, s.driver.Health().State)
}

func TestOtherVersionOfTheProtocolIsRefused(t *testing.T) {
	s := script(t, "x", jsonrpc.Methods{"initialize": answer(`{"protocolVersion":9}`)})
	_, err := s.driver.Launch(t.Context())
	require.ErrorContains(t, err, "version 9")
	assert.Equal(t, agent.HealthFailed, s.driver.Health().State)
}

func TestModelsAreLearnedAndStored(t *testing.T) {
	s := script(t, "x", jsonrpc.Methods{"session/new": answer(`{"sessionId":"s1","configOptions":[{"type":"select","id":"m","category":"model","currentValue":"a",
		"options":[{"group":"g","name":"G","options":[{"value":"a","name":"A"},{"value":"b/c","name":"B"}]}]}]}`)})
	assert.Equal(t, []agent.Model{{ID: "x/default", Name: "x"}}, s.driver.Models(), "before the first start")
	want := []agent.Model{{ID: "x/a", Name: "A"}, {ID: "x/b/c", Name: "B"}}
	list, err := s.launch().Models(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, list)
	again := acp.New(acp.Options{Name: "x", Command: []string{"none"}, Saved: s.driver.Saved()})
	assert.Equal(t, want, again.Models(), "after a restart")
}

func TestSafeModeIsSelected(t *testing.T) {
	s := script(t, "claude", jsonrpc.Methods{
		"session/new":      answer(`{"sessionId":"s1","modes":{"currentModeId":"auto","availableModes":[{"id":"auto"},{"id":"default"}]}}`),
		"session/set_mode": answer(`{}`),
	})
	_, err := s.launch().Open(t.Context(), agent.Opening{Session: "p", Model: "claude/default", Directory: t.TempDir()}, func(string, event.Body) {})
	require.NoError(t, err)
	assert.Contains(t, s.calls(), "session/set_mode")
}

func TestAnswerSelectsAnOptionForOnce(t *testing.T) {
	const codex = `[{"optionId":"yes","kind":"allow_once"},{"optionId":"ever","kind":"allow_always"},{"optionId":"cancel","kind":"reject_once"},{"optionId":"decline","kind":"reject_once"}]`
	for name, c := range map[string]struct {
		options  string
		approved bool
		want     string
	}{
		"approved":                  {codex, true, "yes"},
		"refused, the turn goes on": {codex, false, "decline"},
		"refused for ever":          {`[{"optionId":"never","kind":"reject_always"}]`, false, "never"},
		"only for ever":             {`[{"optionId":"ever","kind":"allow_always"},{"optionId":"no","kind":"reject_once"}]`, true, "no"},
		"no refusal":                {`[{"optionId":"yes","kind":"allow_once"}]`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := acp.Chosen(c.options, c.approved)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestQuestionNamesWhatIsNeeded(t *testing.T) {
	for call, c := range map[string]struct {
		names         []string
		title, detail string
	}{
		`{"kind":"execute","title":"List","rawInput":{"command":"ls","description":"List files"}}`: {[]string{permission.Exec}, "List files", "ls"},
		`{"kind":"execute","title":"x","rawInput":{"command":["bash","-lc","git push"]}}`:          {[]string{permission.Push}, "Run a command", "git push"},
		`{"kind":"execute","title":"something"}`:                                                   {[]string{permission.Exec}, "something", "something"},
		`{"kind":"execute","title":"x","rawInput":{"command":"git","args":["push","-f","a b",1]}}`: {[]string{permission.ForcePush}, "Run a command", "git push -f 'a b' 1"},
		`{"kind":"execute","title":"x","rawInput":{"command":["git"],"args":"push"}}`:              {[]string{permission.Push}, "Run a command", "git push"},
		`{"kind":"execute","title":"x","rawInput":{"args":["push"]}}`:                              {[]string{permission.Exec}, "x", "x"},
		`{"kind":"edit","rawInput":{"fileName":"/a"},"content":[{"type":"diff","path":"/a","oldText":"x\n","newText":"y\n"}]}`: {
			[]string{permission.Write}, "Write /a", "-x\n+y\n",
		},
		`{"kind":"delete","locations":[{"path":"/a"}]}`:             {[]string{permission.Write}, "Delete /a", ""},
		`{"kind":"read","rawInput":{"filePath":"/a"}}`:              {[]string{permission.Read}, "Read /a", "/a"},
		`{"kind":"fetch","rawInput":{"url":"http://example.com/"}}`: {[]string{permission.Fetch}, "Fetch http://example.com/", "http://example.com/"},
		`{"kind":"other","title":"Do","name":"magic","rawInput":1}`: {[]string{"agent.x.magic"}, "Do", "1"},
		`{"title":"Do"}`: {[]string{"agent.x.other"}, "Do", ""},
	} {
		q, err := acp.Described(call, t.TempDir())
		require.NoError(t, err)
		assert.Equal(t, c.names, q.Names, call)
		assert.Equal(t, c.title, q.Title, call)
		assert.Equal(t, c.detail, q.Detail, call)
	}
	q, err := acp.Described(`{"kind":"execute","title":"something"}`, t.TempDir())
	require.NoError(t, err)
	assert.True(t, q.Opaque, "a command that is not named may be any")
}

func TestPathAboveALinkMayBeAnyFile(t *testing.T) {
	directory, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(directory, "link")))
	for path, want := range map[string]string{"link/../secret": "", "sub/../secret": filepath.Join(directory, "secret"), "./link/x": filepath.Join(outside, "x")} {
		q, err := acp.Described(`{"kind":"read","rawInput":{"filePath":"`+path+`"}}`, directory)
		require.NoError(t, err)
		assert.Equal(t, want, q.AllNeeds()[0].Target, path)
	}
}

func TestToolsHaveTheNamesOfTheCopilotCLI(t *testing.T) {
	for call, want := range map[string]string{
		`{"kind":"execute","title":"Run tests","rawInput":{"command":"make"}}`:                                `bash {"command":"make","description":"Run tests"}`,
		`{"kind":"execute","title":"x","rawInput":{"command":"git","args":["push"]}}`:                         `bash {"args":["push"],"command":"git push","description":"x"}`,
		`{"kind":"read","rawInput":{"filePath":"/a"}}`:                                                        `view {"filePath":"/a","path":"/a"}`,
		`{"kind":"edit","content":[{"type":"diff","path":"/a","newText":"x"}],"locations":[{"path":"/a"}]}`:   `create {"file_text":"x","path":"/a"}`,
		`{"kind":"edit","content":[{"type":"diff","oldText":"y","newText":"x"}],"locations":[{"path":"/a"}]}`: `edit {"new_str":"x","old_str":"y","path":"/a"}`,
		`{"kind":"fetch","rawInput":{"url":"u"}}`:                                                             `web_fetch {"url":"u"}`,
		`{"name":"magic","rawInput":[1]}`:                                                                     `magic {}`,
	} {
		name, arguments, err := acp.Normalized(call)
		require.NoError(t, err)
		assert.Equal(t, want, name+" "+arguments, call)
	}
}

// Codex sends the output of commands only for the terminals of editors.
func TestOutputForTerminalsIsShown(t *testing.T) {
	var output string
	var result event.ToolResult
	acp.Translate(func(_ string, b event.Body) {
		switch b := b.(type) {
		case event.ToolOutput:
			output += b.Text
		case event.ToolEnded:
			result = *b.Result
		}
	},
		[]byte(`{"sessionUpdate":"tool_call","toolCallId":"c","kind":"execute","status":"in_progress","content":[{"type":"terminal","terminalId":"c"}]}`),
		[]byte(`{"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_output_delta":{"data":"one "}}}`),
		[]byte(`{"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_output":"of another kind"}}`),
		[]byte(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","_meta":{"terminal_output":{"data":"two"}}}`),
	)
	assert.Equal(t, "one ", output)
	assert.Equal(t, "one two", result.Content)
}

func TestOnlyTheEndOfLongOutputIsKept(t *testing.T) {
	updates := [][]byte{[]byte(`{"sessionUpdate":"tool_call","toolCallId":"c","kind":"execute","status":"in_progress"}`)}
	for i := range 2_000 { // 8 MB
		updates = append(updates, fmt.Appendf(nil, `{"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_output_delta":{"data":"%04000d"}}}`, i))
	}
	updates = append(updates, []byte(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}`))
	deltas := 0
	var result event.ToolResult
	acp.Translate(func(_ string, b event.Body) {
		switch b := b.(type) {
		case event.ToolOutput:
			assert.Len(t, b.Text, 4000)
			deltas++
		case event.ToolEnded:
			result = *b.Result
		}
	}, updates...)
	assert.Equal(t, 2_000, deltas)
	assert.LessOrEqual(t, len(result.Content), 1<<20)
	assert.True(t, strings.HasSuffix(result.Content, "0001999"))
}

func FuzzUpdate(f *testing.F) {
	f.Add(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`, `{"sessionUpdate":"tool_call","toolCallId":"c","kind":"edit","content":[{"type":"diff"}]}`)
	f.Add(`{"sessionUpdate":"config_option_update","configOptions":[{"category":"model","currentValue":1}]}`, `{"sessionUpdate":"usage_update","used":1}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		open := map[string]bool{}
		idle := false
		acp.Translate(func(_ string, b event.Body) {
			switch b := b.(type) {
			case event.ToolStarted:
				assert.False(t, open[b.ID], "a call starts once")
				open[b.ID] = true
			case event.ToolEnded:
				assert.True(t, open[b.ID], "a call starts before it ends")
			case event.Idle:
				idle = true
			}
		}, []byte(a), []byte(b))
		assert.True(t, idle)
	})
}
