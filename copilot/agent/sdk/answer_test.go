package sdk_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/github/copilot-sdk/go/rpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestAnswersToTheCLI(t *testing.T) {
	ways := event.Question{ID: "q", Choices: []string{"autopilot", "interactive"}}
	approved := event.Answer{Approved: true}
	for name, tc := range map[string]struct {
		got  any
		want string // JSON
	}{
		"a permission applies once":    {sdk.Decision(event.Answer{Approved: true, Remember: true}), `{"kind":"approve-once"}`},
		"a refusal always has a text":  {sdk.Decision(event.Answer{}), `{"kind":"reject","feedback":"The user refused it."}`},
		"a refusal has its own reason": {sdk.Decision(event.Answer{Reason: "no"}), `{"kind":"reject","feedback":"no"}`},

		"a refused form": {sdk.Elicited(event.Answer{Reason: "no"}), `{"action":"decline"}`},
		"a visited page": {sdk.Elicited(approved), `{"action":"accept","content":{}}`},
		"a completed form": {
			sdk.Elicited(event.Answer{Approved: true, Fields: map[string]any{"t": "x", "n": 1.5, "b": false, "l": []string{"x"}, "e": []string{}}}),
			`{"action":"accept","content":{"t":"x","n":1.5,"b":false,"l":["x"],"e":[]}}`,
		},

		"a plan continues in the recommended way": {sdk.Planned(ways, approved), `{"approved":true,"selectedAction":"autopilot"}`},
		"a plan continues in the chosen way":      {sdk.Planned(ways, event.Answer{Approved: true, Text: "interactive"}), `{"approved":true,"selectedAction":"interactive"}`},
		"a plan without choices":                  {sdk.Planned(event.Question{ID: "q"}, approved), `{"approved":true}`},
		"a rejected plan":                         {sdk.Planned(ways, event.Answer{Reason: "shorter"}), `{"approved":false,"feedback":"shorter"}`},
		"a plan rejected without a reason":        {sdk.Planned(ways, event.Answer{}), `{"approved":false,"feedback":"The user wants another plan."}`},

		"a result":                     {sdk.ToolResult(ways, event.Answer{Text: "42"}), `{"requestId":"q","result":{"textResultForLlm":"42","resultType":"success"}}`},
		"an empty result":              {sdk.ToolResult(ways, event.Answer{}), `{"requestId":"q","result":{"textResultForLlm":"","resultType":"success"}}`},
		"a failure":                    {sdk.ToolResult(ways, event.Answer{Failed: true, Reason: "broken", Text: "x"}), `{"requestId":"q","result":{"textResultForLlm":"broken","resultType":"failure","error":"broken"}}`},
		"a failure without a reason":   {sdk.ToolResult(ways, event.Answer{Failed: true}), `{"requestId":"q","result":{"textResultForLlm":"The tool failed.","resultType":"failure","error":"The tool failed."}}`},
		"a tool, under the CLI's name": {sdk.VendorTool(event.Tool{Name: "shop.buy", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}), `{"name":"shop_buy","description":"d","parameters":{"type":"object"}}`},
		"a tool without arguments":     {sdk.VendorTool(event.Tool{Name: "a"}), `{"name":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tc.got)
			require.NoError(t, err)
			assert.JSONEq(t, tc.want, string(got))
		})
	}
}

func TestHandlersOfQuestionsWait(t *testing.T) {
	begin := func(m *sdk.Disconnected) {
		for _, kind := range []event.QuestionKind{event.AskInput, event.AskForm, event.AskSignIn, event.AskPlan} {
			for range 2 {
				go m.Handle(kind, "Sure?")
			}
		}
		synctest.Wait()
	}
	for name, tc := range map[string]struct {
		do   func(*sdk.Disconnected)
		left int
	}{
		"for their answers":                   {func(*sdk.Disconnected) {}, 8},
		"and are released one by one":         {func(m *sdk.Disconnected) { m.Answered(event.AskPlan, "Sure?") }, 7},
		"by kind":                             {func(m *sdk.Disconnected) { m.Answered(event.AskTool, "Sure?") }, 8},
		"and by text":                         {func(m *sdk.Disconnected) { m.Answered(event.AskPlan, "Really?") }, 8},
		"or until the CLI is idle":            {func(m *sdk.Disconnected) { m.Event(vendorEvent(t, "assistant.idle", `{}`)) }, 0},
		"or until the conversation is closed": {func(m *sdk.Disconnected) { m.Close() }, 0},
		"and do not start after that":         {func(m *sdk.Disconnected) { m.Close(); m.Handle(event.AskPlan, "Sure?") }, 0},
		"more answers than handlers are harmless": {func(m *sdk.Disconnected) {
			for range 3 {
				m.Answered(event.AskInput, "Sure?")
			}
		}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := sdk.NewDisconnected(func(string, event.Body) {})
				begin(m)
				tc.do(m)
				synctest.Wait()
				assert.Equal(t, tc.left, m.Parked())
				m.Close()
			})
		})
	}
}

// ends returns a conversation without a CLI, and a function that returns its events.
func ends(t *testing.T) (*sdk.Disconnected, func() []event.Body) {
	t.Helper()
	var mu sync.Mutex
	var told []event.Body
	m := sdk.NewDisconnected(func(_ string, b event.Body) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, b)
	})
	return m, func() []event.Body {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		last := told
		told = nil
		return last
	}
}

func TestPromptEndsWhenEverythingWasRead(t *testing.T) {
	prompt, steer := event.Prompt{Text: "a"}, event.Prompt{Text: "b", Steer: true}
	const read, idle, late, aborting, aborted = "user.message", "assistant.idle", "session.idle", "aborting", "aborted"
	done, cut := []event.Body{event.Idle{}}, []event.Body{event.Idle{Aborted: true}}
	type step any
	for name, tc := range map[string]struct {
		steps []step
		want  []event.Body
	}{
		"no prompt was sent":                                  {[]step{read, idle}, nil},
		"the prompt is unread":                                {[]step{prompt, idle}, nil},
		"the prompt was read":                                 {[]step{prompt, read, idle}, done},
		"the end is reported once":                            {[]step{prompt, read, idle, idle}, done},
		"a steering prompt is unread":                         {[]step{prompt, read, steer, idle}, nil},
		"a steering prompt is read after the end":             {[]step{prompt, read, steer, idle, read, idle}, done},
		"one of two steering prompts was read":                {[]step{prompt, read, steer, steer, read, idle}, nil},
		"a steering prompt is sent before the prompt is read": {[]step{prompt, steer, read, idle}, nil},
		"such a steering prompt is read":                      {[]step{prompt, steer, read, read, idle}, done},
		"a steering prompt never arrived":                     {[]step{prompt, read, steer, "failed", idle}, done},
		"an abort ends everything":                            {[]step{prompt, read, steer, aborted}, cut},
		"an abort leaves nothing for the next prompt":         {[]step{prompt, read, steer, aborted, prompt, read, idle}, append(cut[:1:1], done...)},
		"a repeated end does not end the next prompt": {
			[]step{prompt, read, idle, prompt, aborting, late}, done,
		},
		"a message of the CLI to itself is not a prompt": {
			[]step{prompt, read, steer, vendorEvent(t, read, `{"content":"on","isAutopilotContinuation":true}`), idle}, nil,
		},
		"nor is a message of a skill":  {[]step{prompt, read, steer, vendorEvent(t, read, `{"content":"x","source":"skill-pdf"}`), idle}, nil},
		"nor a message to a sub-agent": {[]step{prompt, read, steer, eventOf(t, "", "helper", read, `{"content":"x"}`), idle}, nil},
		"a source may be the user":     {[]step{prompt, read, steer, vendorEvent(t, read, `{"content":"x","source":"user"}`), idle}, done},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, told := ends(t)
				for _, s := range tc.steps {
					switch s := s.(type) {
					case event.Prompt:
						require.NoError(t, m.Sent(s))
					case rpc.SessionEvent:
						m.Event(s)
					case string:
						switch s {
						case "failed":
							m.Failed(steer)
						case aborting:
							m.Aborting()
						case aborted:
							m.Event(vendorEvent(t, idle, `{"aborted":true}`))
						default:
							m.Event(vendorEvent(t, s, `{"content":"x"}`))
						}
					}
				}
				assert.Equal(t, tc.want, told())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		m, _ := ends(t)
		require.ErrorIs(t, m.Sent(steer), fault.ErrIdle, "no prompt was sent")
		require.NoError(t, m.Sent(prompt))
		require.NoError(t, m.Sent(steer), "the agent has the prompt, although it has not read it")
		m.Event(vendorEvent(t, idle, `{"aborted":true}`))
		m.Event(vendorEvent(t, read, `{"content":"x"}`))
		m.Event(vendorEvent(t, idle, `{"aborted":true}`))
		require.ErrorIs(t, m.Sent(steer), fault.ErrIdle)
	})
}

func TestRunEndWaitsForPlan(t *testing.T) {
	todo := event.Todo{ID: "1", Title: "a", State: event.TodoCompleted}
	planned := event.PlanChanged{Todos: []event.Todo{todo}}
	type run struct {
		*testing.T
		*sdk.Disconnected
		told func() []event.Body
	}
	for name, tc := range map[string]struct {
		aborted bool
		do      func(r run)
	}{
		"until it is read": {false, func(r run) {
			assert.Empty(r, r.told())
			require.ErrorIs(r, r.Sent(event.Prompt{Text: "b", Steer: true}), fault.ErrIdle)
			r.EndReading(todo)
			assert.Equal(r, []event.Body{planned, event.Idle{}}, r.told())
			time.Sleep(time.Minute)
			assert.Empty(r, r.told(), "once")
		}},
		"but only for a limited time": {false, func(r run) {
			time.Sleep(10 * time.Second)
			assert.Equal(r, []event.Body{event.Idle{}}, r.told())
			r.EndReading(todo)
			assert.Equal(r, []event.Body{planned}, r.told())
		}},
		"or until it is aborted": {false, func(r run) {
			r.Aborting()
			assert.Equal(r, []event.Body{event.Idle{}}, r.told())
		}},
		"but not after an abort": {true, func(r run) {
			assert.Equal(r, []event.Body{event.Idle{Aborted: true}}, r.told())
			r.EndReading()
			assert.Empty(r, r.told())
		}},
		"and the next run waits as long, whatever the last one did": {false, func(r run) {
			time.Sleep(8 * time.Second)
			r.EndReading(todo)
			assert.Len(r, r.told(), 2)
			require.NoError(r, r.Sent(event.Prompt{Text: "b"}))
			r.Event(vendorEvent(r.T, "user.message", `{"content":"b"}`))
			r.BeginReading()
			r.Event(vendorEvent(r.T, "assistant.idle", `{}`))
			time.Sleep(8 * time.Second)
			assert.Empty(r, r.told())
			time.Sleep(2 * time.Second)
			assert.Len(r, r.told(), 1)
		}},
		"but it is not reported after Close": {false, func(r run) {
			r.Close()
			r.EndReading(todo)
			time.Sleep(time.Minute)
			assert.Empty(r, r.told())
		}},
		"an unchanged plan is not reported again, and a new text keeps its to-dos": {false, func(r run) {
			r.EndReading(todo)
			r.told()
			r.EndReading(todo)
			assert.Empty(r, r.told())
			r.Event(vendorEvent(r.T, "exit_plan_mode.requested", `{"requestId":"q","planContent":"1. a"}`))
			assert.Equal(r, event.PlanChanged{Text: "1. a", Todos: []event.Todo{todo}}, r.told()[0])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, told := ends(t)
				require.NoError(t, m.Sent(event.Prompt{Text: "a"}))
				m.Event(vendorEvent(t, "user.message", `{"content":"a"}`))
				m.BeginReading()
				m.Event(vendorEvent(t, "assistant.idle", fmt.Sprintf(`{"aborted":%v}`, tc.aborted)))
				tc.do(run{t, m, told})
			})
		})
	}
}

// No other signal may follow the one whose reading took too long.
func TestTodosAreReadAgainIfTheCLIWasTooBusy(t *testing.T) {
	t.Parallel()
	const read = "session.plan.readSqlTodosWithDependencies"
	f := scriptedCLI{Version: sdk.MinVersion, Misses: read, Results: map[string]string{
		"session.create": `{"sessionId":"s"}`, read: `{"rows":[{"id":"1","title":"a","status":"done"}],"dependencies":[]}`,
	}}
	c := open(t, launch(t, f.driver(t, nil)), func(o *agent.Opening) { o.Session = "s" })
	sdk.Tell(c.Conversation, vendorEvent(t, "session.todos_changed", `{}`))
	plan, _ := until[event.PlanChanged](c)
	assert.Equal(t, []event.Todo{{ID: "1", Title: "a", State: event.TodoCompleted}}, plan.Todos)
}

func TestTodos(t *testing.T) {
	s := func(text string) *string { return &text }
	row := func(id, status string) rpc.PlanSQLTodosRow {
		return rpc.PlanSQLTodosRow{ID: s(id), Title: s("do " + id), Description: s("well"), Status: s(status)}
	}
	got := sdk.TodoList(&rpc.PlanReadSQLTodosWithDependenciesResult{
		Rows: []rpc.PlanSQLTodosRow{row("a", "done"), row("b", "in_progress"), row("c", "pending"), row("d", "blocked"), row("e", "completed"), row("f", "what?"), {}},
		Dependencies: []rpc.PlanSQLTodoDependency{
			{TodoID: "c", DependsOn: "a"}, {TodoID: "c", DependsOn: "b"}, {TodoID: "gone", DependsOn: "a"},
		},
	})
	todo := func(id string, state event.TodoState, after ...string) event.Todo {
		return event.Todo{ID: id, Title: "do " + id, Detail: "well", State: state, After: after}
	}
	assert.Equal(t, []event.Todo{
		todo("a", event.TodoCompleted), todo("b", event.TodoRunning), todo("c", event.TodoPending, "a", "b"),
		todo("d", event.TodoPending), todo("e", event.TodoCompleted), todo("f", event.TodoPending),
		{State: event.TodoPending},
	}, got)
	assert.Empty(t, sdk.TodoList(&rpc.PlanReadSQLTodosWithDependenciesResult{}))
}

func TestExtensionsOfTheCLI(t *testing.T) {
	states := map[rpc.MCPServerStatus]event.ServerState{
		rpc.MCPServerStatusConnected: event.ServerConnected, rpc.MCPServerStatusPending: event.ServerPending,
		rpc.MCPServerStatusFailed: event.ServerFailed, rpc.MCPServerStatusNeedsAuth: event.ServerSignIn,
		rpc.MCPServerStatusNotConfigured: event.ServerConfigured, rpc.MCPServerStatusDisabled: event.ServerDisabled,
		rpc.MCPServerStatusStopped: event.ServerDisabled, "new": event.ServerDisabled,
	}
	for status, want := range states {
		got := sdk.Loaded([]rpc.MCPServer{{Name: "files", Status: status}}, nil)
		assert.Equal(t, agent.Extensions{Servers: []event.Server{{Name: "files", State: want}}}, got, status)
	}
	source, no, path := rpc.MCPServerSource("user"), "no", "/project/skill.md"
	skill := agent.Skill{Name: "pdf", Description: "d", Source: "project", Path: path, Enabled: true, Invocable: true}
	assert.Equal(t, agent.Extensions{
		Servers: []event.Server{{Name: "files", State: event.ServerFailed, Source: "user", Error: "no"}},
		Skills:  []agent.Skill{skill},
	}, sdk.Loaded(
		[]rpc.MCPServer{{Name: "files", Status: rpc.MCPServerStatusFailed, Source: &source, Error: &no}},
		[]rpc.Skill{{Name: "pdf", Description: "d", Source: "project", Path: &path, Enabled: true, UserInvocable: true}},
	))
	assert.Equal(t, agent.Extensions{
		Servers: []event.Server{{Name: "a", State: event.ServerConfigured, Source: "user"}, {Name: "b", State: event.ServerDisabled, Source: "user"}},
		Skills:  []agent.Skill{skill},
	}, sdk.Discovered(
		[]rpc.DiscoveredMCPServer{{Name: "a", Enabled: true, Source: "user"}, {Name: "b", Source: "user"}},
		[]rpc.ServerSkill{{Name: "pdf", Description: "d", Source: "project", Path: &path, Enabled: true, UserInvocable: true}},
	))
}
