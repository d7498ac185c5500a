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

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/sdk"
)

func TestAnswersToTheCLI(t *testing.T) {
	ways := copilot.Question{ID: "q", Choices: []string{"autopilot", "interactive"}}
	approved := copilot.Answer{Approved: true}
	for name, tc := range map[string]struct {
		got  any
		want string // JSON
	}{
		"a permission is for this once": {sdk.Decision(copilot.Answer{Approved: true, Remember: true}), `{"kind":"approve-once"}`},
		"a refusal always has a text":   {sdk.Decision(copilot.Answer{}), `{"kind":"reject","feedback":"The user refused it."}`},
		"a refusal has its own reason":  {sdk.Decision(copilot.Answer{Reason: "no"}), `{"kind":"reject","feedback":"no"}`},

		"a form that is refused":  {sdk.Elicited(copilot.Answer{Reason: "no"}), `{"action":"decline"}`},
		"a page that was visited": {sdk.Elicited(approved), `{"action":"accept","content":{}}`},
		"a form that is filled in": {
			sdk.Elicited(copilot.Answer{Approved: true, Fields: map[string]any{"t": "x", "n": 1.5, "b": false, "l": []string{"x"}, "e": []string{}}}),
			`{"action":"accept","content":{"t":"x","n":1.5,"b":false,"l":["x"],"e":[]}}`,
		},

		"a plan goes the recommended way":        {sdk.Planned(ways, approved), `{"approved":true,"selectedAction":"autopilot"}`},
		"a plan goes the way that was chosen":    {sdk.Planned(ways, copilot.Answer{Approved: true, Text: "interactive"}), `{"approved":true,"selectedAction":"interactive"}`},
		"a plan without ways":                    {sdk.Planned(copilot.Question{ID: "q"}, approved), `{"approved":true}`},
		"a plan that is sent back":               {sdk.Planned(ways, copilot.Answer{Reason: "shorter"}), `{"approved":false,"feedback":"shorter"}`},
		"a plan that is sent back for no reason": {sdk.Planned(ways, copilot.Answer{}), `{"approved":false,"feedback":"The user wants another plan."}`},

		"a result":                  {sdk.ToolResult(ways, copilot.Answer{Text: "42"}), `{"requestId":"q","result":{"textResultForLlm":"42","resultType":"success"}}`},
		"an empty result":           {sdk.ToolResult(ways, copilot.Answer{}), `{"requestId":"q","result":{"textResultForLlm":"","resultType":"success"}}`},
		"a failure":                 {sdk.ToolResult(ways, copilot.Answer{Failed: true, Reason: "broken", Text: "x"}), `{"requestId":"q","result":{"textResultForLlm":"broken","resultType":"failure","error":"broken"}}`},
		"a failure for no reason":   {sdk.ToolResult(ways, copilot.Answer{Failed: true}), `{"requestId":"q","result":{"textResultForLlm":"The tool failed.","resultType":"failure","error":"The tool failed."}}`},
		"a tool, by the CLI's name": {sdk.VendorTool(copilot.Tool{Name: "shop.buy", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}), `{"name":"shop_buy","description":"d","parameters":{"type":"object"}}`},
		"a tool without arguments":  {sdk.VendorTool(copilot.Tool{Name: "a"}), `{"name":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tc.got)
			require.NoError(t, err)
			assert.JSONEq(t, tc.want, string(got))
		})
	}
}

func TestHandlersOfQuestionsWait(t *testing.T) {
	begin := func(m *sdk.Mute) {
		for _, kind := range []copilot.QuestionKind{copilot.AskInput, copilot.AskForm, copilot.AskSignIn, copilot.AskPlan} {
			for range 2 {
				go m.Handle(kind, "Sure?")
			}
		}
		synctest.Wait()
	}
	for name, tc := range map[string]struct {
		do   func(*sdk.Mute)
		left int
	}{
		"for their answers":                   {func(*sdk.Mute) {}, 8},
		"and are freed one by one":            {func(m *sdk.Mute) { m.Answered(copilot.AskPlan, "Sure?") }, 7},
		"by their kind":                       {func(m *sdk.Mute) { m.Answered(copilot.AskTool, "Sure?") }, 8},
		"and their text":                      {func(m *sdk.Mute) { m.Answered(copilot.AskPlan, "Really?") }, 8},
		"or until the CLI is idle":            {func(m *sdk.Mute) { m.Event(event(t, "assistant.idle", `{}`)) }, 0},
		"or until the conversation is closed": {func(m *sdk.Mute) { m.Close() }, 0},
		"and do not begin when it is":         {func(m *sdk.Mute) { m.Close(); m.Handle(copilot.AskPlan, "Sure?") }, 0},
		"more answers than handlers do no harm": {func(m *sdk.Mute) {
			for range 3 {
				m.Answered(copilot.AskInput, "Sure?")
			}
		}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := sdk.NewMute(func(string, copilot.Body) {})
				begin(m)
				tc.do(m)
				synctest.Wait()
				assert.Equal(t, tc.left, m.Parked())
				m.Close()
			})
		})
	}
}

// ends is a conversation without a CLI that keeps what it tells.
func ends(t *testing.T) (*sdk.Mute, func() []copilot.Body) {
	t.Helper()
	var mu sync.Mutex
	var told []copilot.Body
	m := sdk.NewMute(func(_ string, b copilot.Body) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, b)
	})
	return m, func() []copilot.Body {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		last := told
		told = nil
		return last
	}
}

func TestAPromptEndsWhenAllWasRead(t *testing.T) {
	prompt, steer := copilot.Prompt{Text: "a"}, copilot.Prompt{Text: "b", Steer: true}
	const read, idle, late, aborting, aborted = "user.message", "assistant.idle", "session.idle", "aborting", "aborted"
	done, cut := []copilot.Body{copilot.Idle{}}, []copilot.Body{copilot.Idle{Aborted: true}}
	type step any
	for name, tc := range map[string]struct {
		steps []step
		want  []copilot.Body
	}{
		"nothing was asked":                         {[]step{read, idle}, nil},
		"the prompt was not read yet":               {[]step{prompt, idle}, nil},
		"it was":                                    {[]step{prompt, read, idle}, done},
		"the end is told once":                      {[]step{prompt, read, idle, idle}, done},
		"a prompt that steers was not read":         {[]step{prompt, read, steer, idle}, nil},
		"it was, after the end":                     {[]step{prompt, read, steer, idle, read, idle}, done},
		"one of two was":                            {[]step{prompt, read, steer, steer, read, idle}, nil},
		"it was given before the prompt was read":   {[]step{prompt, steer, read, idle}, nil},
		"it was given so and read":                  {[]step{prompt, steer, read, read, idle}, done},
		"it never arrived":                          {[]step{prompt, read, steer, "failed", idle}, done},
		"an abort ends all":                         {[]step{prompt, read, steer, aborted}, cut},
		"nothing is left of it for the next prompt": {[]step{prompt, read, steer, aborted, prompt, read, idle}, append(cut[:1:1], done...)},
		"nor is the second word of its end the end of the next": {
			[]step{prompt, read, idle, prompt, aborting, late}, done,
		},
		"what the CLI tells itself to go on is no prompt": {
			[]step{prompt, read, steer, event(t, read, `{"content":"on","isAutopilotContinuation":true}`), idle}, nil,
		},
		"nor is what a skill says":     {[]step{prompt, read, steer, event(t, read, `{"content":"x","source":"skill-pdf"}`), idle}, nil},
		"nor what a sub-agent is told": {[]step{prompt, read, steer, eventOf(t, "", "helper", read, `{"content":"x"}`), idle}, nil},
		"a source may be the user":     {[]step{prompt, read, steer, event(t, read, `{"content":"x","source":"user"}`), idle}, done},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, told := ends(t)
				for _, s := range tc.steps {
					switch s := s.(type) {
					case copilot.Prompt:
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
							m.Event(event(t, idle, `{"aborted":true}`))
						default:
							m.Event(event(t, s, `{"content":"x"}`))
						}
					}
				}
				assert.Equal(t, tc.want, told())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		m, _ := ends(t)
		require.ErrorIs(t, m.Sent(steer), copilot.ErrIdle, "nothing was asked")
		require.NoError(t, m.Sent(prompt))
		require.NoError(t, m.Sent(steer), "the agent has the prompt, if it has not read it")
		m.Event(event(t, idle, `{"aborted":true}`))
		m.Event(event(t, read, `{"content":"x"}`))
		m.Event(event(t, idle, `{"aborted":true}`))
		require.ErrorIs(t, m.Sent(steer), copilot.ErrIdle)
	})
}

func TestTheEndOfARunWaitsForItsPlan(t *testing.T) {
	todo := copilot.Todo{ID: "1", Title: "a", State: copilot.TodoCompleted}
	planned := copilot.PlanChanged{Todos: []copilot.Todo{todo}}
	type run struct {
		*testing.T
		*sdk.Mute
		told func() []copilot.Body
	}
	for name, tc := range map[string]struct {
		aborted bool
		do      func(r run)
	}{
		"until it is read": {false, func(r run) {
			assert.Empty(r, r.told())
			require.ErrorIs(r, r.Sent(copilot.Prompt{Text: "b", Steer: true}), copilot.ErrIdle)
			r.EndReading(todo)
			assert.Equal(r, []copilot.Body{planned, copilot.Idle{}}, r.told())
			time.Sleep(time.Minute)
			assert.Empty(r, r.told(), "once")
		}},
		"but not for long": {false, func(r run) {
			time.Sleep(500 * time.Millisecond)
			assert.Equal(r, []copilot.Body{copilot.Idle{}}, r.told())
			r.EndReading(todo)
			assert.Equal(r, []copilot.Body{planned}, r.told())
		}},
		"and not when it was aborted": {true, func(r run) {
			assert.Equal(r, []copilot.Body{copilot.Idle{Aborted: true}}, r.told())
			r.EndReading()
			assert.Empty(r, r.told())
		}},
		"and that of the next run waits as long, whatever the last did": {false, func(r run) {
			time.Sleep(400 * time.Millisecond)
			r.EndReading(todo)
			assert.Len(r, r.told(), 2)
			require.NoError(r, r.Sent(copilot.Prompt{Text: "b"}))
			r.Event(event(r.T, "user.message", `{"content":"b"}`))
			r.BeginReading()
			r.Event(event(r.T, "assistant.idle", `{}`))
			time.Sleep(400 * time.Millisecond)
			assert.Empty(r, r.told())
			time.Sleep(100 * time.Millisecond)
			assert.Len(r, r.told(), 1)
		}},
		"nor is it told after the close": {false, func(r run) {
			r.Close()
			r.EndReading(todo)
			time.Sleep(time.Minute)
			assert.Empty(r, r.told())
		}},
		"a plan that has not changed is not told again, a text keeps its to-dos": {false, func(r run) {
			r.EndReading(todo)
			r.told()
			r.EndReading(todo)
			assert.Empty(r, r.told())
			r.Event(event(r.T, "exit_plan_mode.requested", `{"requestId":"q","planContent":"1. a"}`))
			assert.Equal(r, copilot.PlanChanged{Text: "1. a", Todos: []copilot.Todo{todo}}, r.told()[0])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, told := ends(t)
				require.NoError(t, m.Sent(copilot.Prompt{Text: "a"}))
				m.Event(event(t, "user.message", `{"content":"a"}`))
				m.BeginReading()
				m.Event(event(t, "assistant.idle", fmt.Sprintf(`{"aborted":%v}`, tc.aborted)))
				tc.do(run{t, m, told})
			})
		})
	}
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
	todo := func(id string, state copilot.TodoState, after ...string) copilot.Todo {
		return copilot.Todo{ID: id, Title: "do " + id, Detail: "well", State: state, After: after}
	}
	assert.Equal(t, []copilot.Todo{
		todo("a", copilot.TodoCompleted), todo("b", copilot.TodoRunning), todo("c", copilot.TodoPending, "a", "b"),
		todo("d", copilot.TodoPending), todo("e", copilot.TodoCompleted), todo("f", copilot.TodoPending),
		{State: copilot.TodoPending},
	}, got)
	assert.Empty(t, sdk.TodoList(&rpc.PlanReadSQLTodosWithDependenciesResult{}))
}

func TestExtensionsOfTheCLI(t *testing.T) {
	states := map[rpc.MCPServerStatus]copilot.ServerState{
		rpc.MCPServerStatusConnected: copilot.ServerConnected, rpc.MCPServerStatusPending: copilot.ServerPending,
		rpc.MCPServerStatusFailed: copilot.ServerFailed, rpc.MCPServerStatusNeedsAuth: copilot.ServerSignIn,
		rpc.MCPServerStatusNotConfigured: copilot.ServerConfigured, rpc.MCPServerStatusDisabled: copilot.ServerDisabled,
		rpc.MCPServerStatusStopped: copilot.ServerDisabled, "new": copilot.ServerDisabled,
	}
	for status, want := range states {
		got := sdk.Loaded([]rpc.MCPServer{{Name: "files", Status: status}}, nil)
		assert.Equal(t, copilot.Extensions{Servers: []copilot.Server{{Name: "files", State: want}}}, got, status)
	}
	source, no, path := rpc.MCPServerSource("user"), "no", "/project/skill.md"
	skill := copilot.Skill{Name: "pdf", Description: "d", Source: "project", Path: path, Enabled: true, Invocable: true}
	assert.Equal(t, copilot.Extensions{
		Servers: []copilot.Server{{Name: "files", State: copilot.ServerFailed, Source: "user", Error: "no"}},
		Skills:  []copilot.Skill{skill},
	}, sdk.Loaded(
		[]rpc.MCPServer{{Name: "files", Status: rpc.MCPServerStatusFailed, Source: &source, Error: &no}},
		[]rpc.Skill{{Name: "pdf", Description: "d", Source: "project", Path: &path, Enabled: true, UserInvocable: true}},
	))
	assert.Equal(t, copilot.Extensions{
		Servers: []copilot.Server{{Name: "a", State: copilot.ServerConfigured, Source: "user"}, {Name: "b", State: copilot.ServerDisabled, Source: "user"}},
		Skills:  []copilot.Skill{skill},
	}, sdk.Discovered(
		[]rpc.DiscoveredMCPServer{{Name: "a", Enabled: true, Source: "user"}, {Name: "b", Source: "user"}},
		[]rpc.ServerSkill{{Name: "pdf", Description: "d", Source: "project", Path: &path, Enabled: true, UserInvocable: true}},
	))
}
