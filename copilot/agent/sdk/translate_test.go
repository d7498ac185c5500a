package sdk_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/github/copilot-sdk/go/rpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// vendorEvent decodes an event of the CLI as the SDK does.
func vendorEvent(tb testing.TB, kind, data string) rpc.SessionEvent {
	tb.Helper()
	return eventOf(tb, "", "", kind, data)
}

func eventOf(tb testing.TB, id, agent, kind, data string) rpc.SessionEvent {
	tb.Helper()
	wire := map[string]any{"type": kind, "data": json.RawMessage(data), "timestamp": "2026-01-02T03:04:05Z"}
	if id != "" {
		wire["id"] = id
	}
	if agent != "" {
		wire["agentId"] = agent
	}
	b, err := json.Marshal(wire)
	require.NoError(tb, err)
	var e rpc.SessionEvent
	require.NoError(tb, json.Unmarshal(b, &e))
	return e
}

func TestCLIEventsAreTranslated(t *testing.T) {
	type bodies = []event.Body
	for name, tc := range map[string]struct {
		kind, data string
		want       bodies
	}{
		"a turn begins": {"assistant.turn_start", `{"turnId":"3"}`, bodies{event.TurnStarted{ID: "3"}}},
		"a turn ends":   {"assistant.turn_end", `{"turnId":"3"}`, bodies{event.TurnEnded{ID: "3"}}},
		"a thought begins with its first piece": {
			"assistant.reasoning_delta", `{"reasoningId":"r","deltaContent":"hm"}`,
			bodies{event.ReasoningStarted{ID: "r"}, event.ReasoningDelta{ID: "r", Text: "hm"}},
		},
		"a thought ends without a start": {"assistant.reasoning", `{"reasoningId":"r","content":"hm"}`, bodies{event.ReasoningEnded{ID: "r", Text: "hm"}}},
		"a message begins":               {"assistant.message_start", `{"messageId":"m"}`, bodies{event.MessageStarted{ID: "m"}}},
		"a message begins with its first piece": {
			"assistant.message_delta", `{"messageId":"m","deltaContent":"hi"}`,
			bodies{event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: "hi"}},
		},
		"a message ends without a start": {"assistant.message", `{"messageId":"m","content":"hi"}`, bodies{event.MessageEnded{ID: "m", Text: "hi"}}},
		"a message with tool calls only": {"assistant.message", `{"messageId":"m","content":"","toolRequests":[{"toolCallId":"c","name":"bash"}]}`, bodies{event.MessageEnded{ID: "m"}}},
		"a tool begins": {
			"tool.execution_start", `{"toolCallId":"c","toolName":"bash","arguments":{"command":"ls"},"parentToolCallId":"p"}`,
			bodies{event.ToolStarted{ID: "c", Parent: "p", Name: "bash", Arguments: json.RawMessage(`{"command":"ls"}`)}},
		},
		"a tool without arguments":    {"tool.execution_start", `{"toolCallId":"c","toolName":"list"}`, bodies{event.ToolStarted{ID: "c", Name: "list"}}},
		"a tool with text arguments":  {"tool.execution_start", `{"toolCallId":"c","toolName":"x","arguments":"raw"}`, bodies{event.ToolStarted{ID: "c", Name: "x", Arguments: json.RawMessage(`"raw"`)}}},
		"output of a shell":           {"tool.shell_output", `{"toolCallId":"c","stream":"stdout","text":"a\n","sequence":0}`, bodies{event.ToolOutput{ID: "c", Text: "a\n"}}},
		"empty output of a shell":     {"tool.shell_output", `{"toolCallId":"c","text":""}`, nil},
		"output in an unknown format": {"tool.shell_output", `[1]`, nil},
		"output of another tool":      {"tool.execution_partial_result", `{"toolCallId":"c","partialOutput":"a"}`, bodies{event.ToolOutput{ID: "c", Text: "a"}}},
		"a tool succeeds": {
			"tool.execution_complete", `{"toolCallId":"c","success":true,"result":{"content":"short","detailedContent":"long"}}`,
			bodies{event.ToolEnded{ID: "c", Result: &event.ToolResult{Content: "short", Detail: "long"}}},
		},
		"a tool fails": {
			"tool.execution_complete", `{"toolCallId":"c","success":false,"error":{"message":"no","code":"denied"}}`,
			bodies{event.ToolEnded{ID: "c", Error: &event.ToolError{Text: "no", Code: "denied"}}},
		},
		"a command succeeds": {
			"tool.execution_complete", `{"toolCallId":"c","success":true,"result":{"content":"a"},"shellExecution":{"exitCode":0}}`,
			bodies{event.ToolEnded{ID: "c", Result: &event.ToolResult{Content: "a"}}},
		},
		"a command fails": {
			"tool.execution_complete", `{"toolCallId":"c","success":true,"result":{"content":"a"},"shellExecution":{"exitCode":3}}`,
			bodies{event.ToolEnded{ID: "c", Result: &event.ToolResult{Content: "a"}, Error: &event.ToolError{Text: "exit code 3", Code: event.CodeExit}}},
		},
		"a command fails according to its content": {
			"tool.execution_complete", `{"toolCallId":"c","success":true,"result":{"content":"a","contents":[{"type":"shell_exit","exitCode":1,"shellId":"0"}]}}`,
			bodies{event.ToolEnded{ID: "c", Result: &event.ToolResult{Content: "a"}, Error: &event.ToolError{Text: "exit code 1", Code: event.CodeExit}}},
		},
		"a tool succeeds without a result": {"tool.execution_complete", `{"toolCallId":"c","success":true}`, bodies{event.ToolEnded{ID: "c", Result: &event.ToolResult{}}}},
		"a tool fails without an error":    {"tool.execution_complete", `{"toolCallId":"c","success":false}`, bodies{event.ToolEnded{ID: "c", Error: &event.ToolError{Text: "the tool failed"}}}},
		"a permission granted by a hook":   {"permission.requested", `{"requestId":"q","resolvedByHook":true,"permissionRequest":{"kind":"shell"}}`, nil},
		"a completed permission":           {"permission.completed", `{"requestId":"q","result":{"kind":"approved"}}`, bodies{event.QuestionClosed{ID: "q", Ending: event.Withdrawn}}},
		"a question to the user": {
			"user_input.requested", `{"requestId":"q","question":"which?","choices":["a","b"],"allowFreeform":false,"toolCallId":"c"}`,
			bodies{event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskInput, Call: "c", Text: "which?", Choices: []string{"a", "b"}}}},
		},
		"a question that allows free text": {
			"user_input.requested", `{"requestId":"q","question":"which?","choices":["a"]}`,
			bodies{event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskInput, Text: "which?", Choices: []string{"a"}, Freeform: true}}},
		},
		"a question that could not be answered otherwise": {
			"user_input.requested", `{"requestId":"q","question":"which?","allowFreeform":false}`,
			bodies{event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskInput, Text: "which?", Freeform: true}}},
		},
		"a completed question":             {"user_input.completed", `{"requestId":"q","answer":"a"}`, bodies{event.QuestionClosed{ID: "q", Ending: event.Withdrawn}}},
		"the agent is idle":                {"assistant.idle", `{}`, bodies{event.Idle{}}},
		"the agent is idle after an abort": {"assistant.idle", `{"aborted":true}`, bodies{event.Idle{Aborted: true}}},
		"the session is idle":              {"session.idle", `{"mode":"interactive"}`, bodies{event.Idle{}}},
		"the session is idle after an abort": {
			"session.idle", `{"aborted":true}`, bodies{event.Idle{Aborted: true}},
		},
		"a failure":                       {"session.error", `{"errorType":"query","message":"no","statusCode":400}`, bodies{event.SessionError{Kind: fault.Internal, Text: "no"}}},
		"a failure of the sign-in":        {"session.error", `{"errorType":"authentication","message":"no"}`, bodies{event.SessionError{Kind: fault.Unauthenticated, Text: "no"}}},
		"a rate limit":                    {"session.error", `{"errorType":"rate_limit","message":"no"}`, bodies{event.SessionError{Kind: fault.Unavailable, Text: "no"}}},
		"a quota limit":                   {"session.error", `{"errorType":"quota","message":"no"}`, bodies{event.SessionError{Kind: fault.Unavailable, Text: "no"}}},
		"a title":                         {"session.title_changed", `{"title":"Birds"}`, bodies{event.TitleChanged{Title: "Birds"}}},
		"a model":                         {"session.model_change", `{"newModel":"gpt"}`, bodies{event.ModelChanged{Model: "gpt"}}},
		"the usage of the context window": {"session.usage_info", `{"currentTokens":5,"tokenLimit":10,"messagesLength":1}`, bodies{event.UsageChanged{Used: 5, Limit: 10}}},
		"the to-dos have changed":         {"session.todos_changed", `{}`, nil},
		"the usage of a call": {
			"assistant.usage", `{"model":"gpt","inputTokens":10,"outputTokens":2,"cacheReadTokens":4}`,
			bodies{event.ModelCalled{Model: "gpt", Input: 10, Output: 2, Cached: 4}},
		},
		"a call without usage": {"assistant.usage", `{"model":"gpt"}`, bodies{event.ModelCalled{Model: "gpt"}}},
		"a compaction begins":  {"session.compaction_start", `{"currentTokens":10}`, bodies{event.CompactionStarted{Used: 10}}},
		"a compaction ends": {
			"session.compaction_complete", `{"success":true,"preCompactionTokens":10,"postCompactionTokens":2,"summaryContent":"s"}`,
			bodies{event.CompactionEnded{Before: 10, After: 2, Summary: "s"}},
		},
		"a compaction fails": {"session.compaction_complete", `{"success":false,"error":"no"}`, bodies{event.CompactionEnded{Error: "no"}}},
		"a compaction fails without an error": {
			"session.compaction_complete", `{"success":false}`, bodies{event.CompactionEnded{Error: "the compaction failed"}},
		},
		"an unknown event": {
			"galaxy.formed", `{"stars":1}`,
			bodies{event.Notice{Kind: "galaxy.formed", Raw: json.RawMessage(`{"stars":1}`)}},
		},
		"an unknown event without data": {"galaxy.formed", `null`, bodies{event.Notice{Kind: "galaxy.formed", Raw: json.RawMessage(`null`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, sdk.NewTranslator("/project").Event(vendorEvent(t, tc.kind, tc.data)))
		})
	}
}

// Other events that the pinned SDK knows, by whether a viewer who joins later needs them.
const (
	notices = `abort agent.interrupted assistant.fusion_phase_activity assistant.fusion_phase_completed
		assistant.fusion_phase_failed assistant.fusion_phase_started assistant.intent assistant.server_tool_progress
		assistant.turn_retry auto_mode_switch.completed auto_mode_switch.requested command.completed command.execute
		command.queued factory.run_settled factory.run_started factory.run_updated mcp_app.tool_call_complete
		mcp.headers_refresh_completed mcp.headers_refresh_required mcp.oauth_completed mcp.oauth_required
		mcp.prompts.list_changed mcp.resources.list_changed mcp.tools.list_changed sampling.completed
		sampling.requested session.auto_mode_resolved session.autopilot_objective_changed
		session.auto_tier_recommendation session.auto_tier_switch_failed session.binary_asset session.canvas.closed
		session.canvas.opened session.canvas.recorded session.canvas.registry_changed session.canvas.removed
		session.canvas.unavailable session.completion_receipt session.context_cleared session.custom_agents_updated
		session.custom_notification session.extensions.attachments_pushed session.extensions_loaded
		session.fusion_completed session.fusion_resolved session.fusion_route_failed session.fusion_route_started
		session.handoff session.info session_limits_exhausted.completed session_limits_exhausted.requested
		session.mcp_server_needs_reconnect session.mcp_server_removed 
		session.mode_changed session.mode_notice_delivered session.permissions_changed session.plan_changed
		session.remote_steerable_changed session.schedule_cancelled session.schedule_created
		session.schedule_rearmed session.session_limits_changed session.snapshot_rewind session.task_complete
		session.truncation session.warning session.workspace_file_changed skill.context_delivered
		skill.context_delivered_ref skill.invoked skill.invoked_ref subagent.configured subagent.deselected
		subagent.selected tool.execution_progress tool_search.activated tool.user_requested`
	isInternalEvent = `assistant.streaming_delta assistant.tool_call_delta capabilities.changed commands.changed hook.end
		hook.progress hook.start model.call_failure model.call_finished model.call_start pending_messages.modified
		permission.assentDetected permission.carriedForward permission.contextualAuthorization
		permission.messageAuthorization permission.messageAuthorizationDegraded permission.messageAuthorizationRead
		prompt_cache_break sandbox.decision session.background_tasks_changed session.context_changed
		session.managed_settings_enforced session.managed_settings_resolved session.mcp_servers_loaded session.resume
		session.shutdown session.skills_loaded session.start session.tools_updated session.usage_checkpoint
		system.message system.notification user.message model.messages_snapshot model.turn_started model.log
		ui.ephemeral_query`
)

func TestOtherEventsAreNoticesOrIgnored(t *testing.T) {
	for kind := range strings.FieldsSeq(notices) {
		got := sdk.NewTranslator("/project").Event(vendorEvent(t, kind, `{}`))
		require.Len(t, got, 1, kind)
		n, ok := got[0].(event.Notice)
		require.True(t, ok, "%s: %#v", kind, got[0])
		assert.Equal(t, kind, n.Kind)
		assert.True(t, json.Valid(n.Raw), kind)
	}
	for kind := range strings.FieldsSeq(isInternalEvent) {
		assert.Empty(t, sdk.NewTranslator("/project").Event(vendorEvent(t, kind, `{}`)), kind)
	}
}

func TestSubAgents(t *testing.T) {
	tr := sdk.NewTranslator("/project")
	for _, tc := range []struct {
		kind, data string
		want       event.Body
	}{
		{
			"subagent.started", `{"toolCallId":"c","agentName":"explore","agentDisplayName":"Explorer"}`,
			event.SubagentStarted{ID: "one", Call: "c", Name: "explore", Title: "Explorer"},
		},
		{
			"subagent.completed", `{"totalTokens":5,"totalToolCalls":2,"durationMs":1500}`,
			event.SubagentEnded{ID: "one", Outcome: event.Completed, Tokens: 5, ToolCalls: 2, Duration: 1500 * time.Millisecond},
		},
		{"subagent.completed", `{"cancelled":true}`, event.SubagentEnded{ID: "one", Outcome: event.Cancelled}},
		{"subagent.completed", `{"cancelled":false}`, event.SubagentEnded{ID: "one", Outcome: event.Completed}},
		{
			"subagent.failed", `{"error":"no","totalTokens":5,"durationMs":1}`,
			event.SubagentEnded{ID: "one", Outcome: event.Failed, Error: "no", Tokens: 5, Duration: time.Millisecond},
		},
	} {
		assert.Equal(t, []event.Body{tc.want}, tr.Event(eventOf(t, "", "one", tc.kind, tc.data)))
	}
}

func TestClientToolsKeepTheirNames(t *testing.T) {
	tr := sdk.NewTranslator("/project", event.Tool{Name: "shop.buy"}, event.Tool{Name: "plain"})
	for name, want := range map[string]string{"shop_buy": "shop.buy", "plain": "plain", "bash": "bash", "shop.buy": "shop.buy"} {
		assert.Equal(t, []event.Body{event.ToolStarted{ID: "c", Name: want}},
			tr.Event(vendorEvent(t, "tool.execution_start", fmt.Sprintf(`{"toolCallId":"c","toolName":%q}`, name))))
	}
}

func TestRetriedMessageEndsTheFirst(t *testing.T) {
	tr := sdk.NewTranslator("/project")
	say := func(agent, id string) []event.Body {
		return slices.Concat(
			tr.Event(eventOf(t, "", agent, "assistant.reasoning_delta", fmt.Sprintf(`{"reasoningId":%q,"deltaContent":"x"}`, id))),
			tr.Event(eventOf(t, "", agent, "assistant.message_delta", fmt.Sprintf(`{"messageId":%q,"deltaContent":"x"}`, id))),
		)
	}
	retry := func(agent string) (ended []event.Body) {
		got := tr.Event(eventOf(t, "", agent, "assistant.turn_retry", `{"turnId":"1","reason":"lost"}`))
		require.NotEmpty(t, got)
		assert.IsType(t, event.Notice{}, got[len(got)-1])
		return got[:len(got)-1]
	}
	assert.Empty(t, retry(""), "nothing was started")
	say("", "main")
	say("helper", "helps")
	say("helper", "ends")
	tr.Event(eventOf(t, "", "helper", "assistant.message", `{"messageId":"ends","content":"x"}`))
	assert.Equal(t, []event.Body{event.ReasoningEnded{ID: "main"}, event.MessageEnded{ID: "main"}}, retry(""))
	assert.ElementsMatch(t, []event.Body{
		event.ReasoningEnded{ID: "helps"}, event.ReasoningEnded{ID: "ends"}, event.MessageEnded{ID: "helps"},
	}, retry("helper"))
	assert.Empty(t, retry("helper"), "once")
	assert.Zero(t, tr.Size())
	assert.Len(t, say("", "main"), 4, "it starts again")
}

func TestRepeatedEventsAreDropped(t *testing.T) {
	tr := sdk.NewTranslator("/project")
	delta := func(id, text string) []event.Body {
		return tr.Event(eventOf(t, id, "", "assistant.message_delta", fmt.Sprintf(`{"messageId":"m","deltaContent":%q}`, text)))
	}
	assert.Equal(t, []event.Body{event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: "a"}}, delta("1", "a"))
	assert.Equal(t, []event.Body{event.MessageDelta{ID: "m", Text: "b"}}, delta("2", "b"))
	assert.Empty(t, delta("1", "a"))
	assert.Empty(t, delta("2", "b"))
	assert.Equal(t, []event.Body{event.MessageDelta{ID: "m", Text: "b"}}, delta("3", "b"), "equal texts are different events")
	assert.Len(t, delta("", "c"), 1, "an event without an id")
	assert.Len(t, delta("", "c"), 1, "each event without an id is new")
}

func TestStartIsEmittedOncePerID(t *testing.T) {
	tr := sdk.NewTranslator("/project")
	assert.Len(t, tr.Event(vendorEvent(t, "assistant.message_start", `{"messageId":"m"}`)), 1)
	assert.Empty(t, tr.Event(vendorEvent(t, "assistant.message_start", `{"messageId":"m"}`)))
	assert.Len(t, tr.Event(vendorEvent(t, "assistant.message_delta", `{"messageId":"m","deltaContent":"x"}`)), 1)
	assert.Len(t, tr.Event(vendorEvent(t, "assistant.message_delta", `{"messageId":"n","deltaContent":"x"}`)), 2)
	assert.Len(t, tr.Event(vendorEvent(t, "assistant.reasoning_delta", `{"reasoningId":"m","deltaContent":"x"}`)), 2, "thoughts have their own ids")
	assert.Len(t, tr.Event(vendorEvent(t, "assistant.reasoning_delta", `{"reasoningId":"m","deltaContent":"x"}`)), 1)
}

func TestRepeatedOutputBecomesDeltas(t *testing.T) {
	tr := sdk.NewTranslator("/project")
	partial := func(call, output string) string {
		text := ""
		for _, b := range tr.Event(vendorEvent(t, "tool.execution_partial_result", fmt.Sprintf(`{"toolCallId":%q,"partialOutput":%q}`, call, output))) {
			text += b.(event.ToolOutput).Text
		}
		return text
	}
	assert.Equal(t, "a", partial("c", "a"))
	assert.Equal(t, "b\n", partial("c", "ab\n"))
	assert.Empty(t, partial("c", "ab\n"), "nothing new")
	assert.Equal(t, "x", partial("d", "x"), "another call")
	assert.Empty(t, partial("c", "50 %\n"), "rewritten")
	assert.Equal(t, "done\n", partial("c", "50 %\ndone\n"), "and continued")

	// A shell also streams its output in pieces.
	assert.Len(t, tr.Event(vendorEvent(t, "tool.shell_output", `{"toolCallId":"s","text":"one"}`)), 1)
	assert.Empty(t, partial("s", "one"))
	assert.Len(t, tr.Event(vendorEvent(t, "tool.shell_output", `{"toolCallId":"s","text":"two"}`)), 1)
	assert.Empty(t, partial("s", "onetwo"))
}

func TestOutputOfAnEndedToolIsDropped(t *testing.T) {
	const ends = `{"toolCallId":"c","success":true,"result":{"content":"moved to background"}}`
	for kind, output := range map[string]string{
		"tool.shell_output":             `{"toolCallId":"c","text":"two"}`,
		"tool.execution_partial_result": `{"toolCallId":"c","partialOutput":"onetwo"}`,
	} {
		tr := sdk.NewTranslator("/project")
		tr.Event(vendorEvent(t, "tool.execution_start", `{"toolCallId":"c","toolName":"bash"}`))
		tr.Event(vendorEvent(t, "tool.execution_complete", ends))
		assert.Empty(t, tr.Event(vendorEvent(t, kind, output)), kind)
		for i := range 5000 {
			tr.Event(vendorEvent(t, "tool.execution_complete", fmt.Sprintf(`{"toolCallId":"c%d","success":true}`, i)))
			require.Less(t, tr.Ended(), 2100)
		}
	}
}

func TestSubAgentStateIsNotSessionState(t *testing.T) {
	tr := sdk.NewTranslator("/project")
	for kind, data := range map[string]string{
		"session.model_change":  `{"newModel":"small"}`,
		"session.title_changed": `{"title":"helper"}`,
		"session.usage_info":    `{"currentTokens":5,"tokenLimit":10}`,
		"session.idle":          `{}`,
		"assistant.idle":        `{}`,
	} {
		for _, b := range tr.Event(eventOf(t, "", "helper", kind, data)) {
			assert.IsType(t, event.Notice{}, b, kind)
		}
	}
	assert.Equal(t, []event.Body{event.MessageEnded{ID: "m", Text: "found"}},
		tr.Event(eventOf(t, "", "helper", "assistant.message", `{"messageId":"m","content":"found"}`)))
	assert.Len(t, tr.Event(eventOf(t, "", "helper", "session.error", `{"errorType":"query","message":"no"}`)), 1)
}

func TestAgentIsNotIdleWhileSubAgentsWork(t *testing.T) {
	idle := []event.Body{event.Idle{}}
	begin := func() *sdk.Translator {
		tr := sdk.NewTranslator("/project")
		tr.Event(eventOf(t, "", "one", "subagent.started", `{"executionMode":"background"}`))
		tr.Event(eventOf(t, "", "two", "subagent.started", `{}`))
		assert.Empty(t, tr.Event(vendorEvent(t, "assistant.idle", `{}`)))
		return tr
	}
	t.Run("until they have ended", func(t *testing.T) {
		tr := begin()
		tr.Event(eventOf(t, "", "one", "subagent.completed", `{}`))
		assert.Empty(t, tr.Event(vendorEvent(t, "assistant.idle", `{}`)))
		tr.Event(eventOf(t, "", "two", "subagent.failed", `{"error":"no"}`))
		assert.Equal(t, idle, tr.Event(vendorEvent(t, "assistant.idle", `{}`)))
	})
	t.Run("unless it was aborted", func(t *testing.T) {
		assert.Equal(t, []event.Body{event.Idle{Aborted: true}}, begin().Event(vendorEvent(t, "assistant.idle", `{"aborted":true}`)))
	})
	t.Run("or unless the session is idle", func(t *testing.T) {
		tr := begin()
		assert.Equal(t, idle, tr.Event(vendorEvent(t, "session.idle", `{}`)))
		assert.Equal(t, idle, tr.Event(vendorEvent(t, "assistant.idle", `{}`)), "the sub-agents are forgotten")
	})
}

func TestTranslatorForgetsEndedBlocks(t *testing.T) {
	tr := sdk.NewTranslator("/project")
	for i := range 100 {
		tr.Event(vendorEvent(t, "assistant.reasoning_delta", fmt.Sprintf(`{"reasoningId":"r%d","deltaContent":"x"}`, i)))
		tr.Event(vendorEvent(t, "assistant.message_delta", fmt.Sprintf(`{"messageId":"m%d","deltaContent":"x"}`, i)))
		tr.Event(vendorEvent(t, "assistant.message", fmt.Sprintf(`{"messageId":"m%d","content":"x"}`, i)))
		tr.Event(vendorEvent(t, "assistant.reasoning", fmt.Sprintf(`{"reasoningId":"r%d","content":"x"}`, i)))
		tr.Event(vendorEvent(t, "tool.execution_partial_result", fmt.Sprintf(`{"toolCallId":"c%d","partialOutput":"x"}`, i)))
		tr.Event(vendorEvent(t, "tool.execution_complete", fmt.Sprintf(`{"toolCallId":"c%d","success":true}`, i)))
		tr.Event(eventOf(t, "", fmt.Sprint(i), "subagent.started", `{}`))
		tr.Event(eventOf(t, "", fmt.Sprint(i), "subagent.completed", `{}`))
		tr.Event(vendorEvent(t, "assistant.idle", `{}`))
	}
	assert.Zero(t, tr.Size(), "a server in the background keeps the session from being idle for days")
}

func TestTranslatorForgetsDuringBackgroundCommand(t *testing.T) {
	tr := sdk.NewTranslator("/project")
	size := 0
	for i := range 200 {
		id := fmt.Sprint(i)
		tr.Event(eventOf(t, "a"+id, "", "assistant.reasoning_delta", `{"reasoningId":"r`+id+`","deltaContent":"x"}`))
		tr.Event(eventOf(t, "b"+id, "", "assistant.message_delta", `{"messageId":"m`+id+`","deltaContent":"x"}`))
		tr.Event(eventOf(t, "c"+id, "", "tool.execution_partial_result", `{"toolCallId":"c`+id+`","partialOutput":"x"}`))
		tr.Event(eventOf(t, "d"+id, "", "assistant.idle", `{"aborted":true}`))
		size = max(size, tr.Size())
	}
	assert.LessOrEqual(t, size, 11, "at most those of two runs")
	for i := range 5000 {
		tr.Event(vendorEvent(t, "tool.shell_output", fmt.Sprintf(`{"toolCallId":"s%d","text":"x"}`, i)))
		size = max(size, tr.Size())
	}
	assert.Less(t, size, 2100)
	again := `{"toolCallId":"s4999","partialOutput":"x"}`
	assert.Empty(t, tr.Event(vendorEvent(t, "assistant.idle", `{}`))[1:])
	assert.Empty(t, tr.Event(vendorEvent(t, "tool.execution_partial_result", again)), "a background command continues")

	tr.Event(eventOf(t, "", "helper", "subagent.started", `{}`))
	tr.Event(eventOf(t, "", "helper", "assistant.message_start", `{"messageId":"h"}`))
	assert.Empty(t, tr.Event(vendorEvent(t, "assistant.idle", `{}`)))
	assert.Len(t, tr.Event(eventOf(t, "", "helper", "assistant.message_delta", `{"messageId":"h","deltaContent":"x"}`)), 1, "so does a sub-agent")
}

func TestDuplicateIdleEndsPromptOnce(t *testing.T) {
	const turn, failure, agent, session = "assistant.turn_start", "session.error", "assistant.idle", "session.idle"
	for name, tc := range map[string]struct {
		kinds []string
		want  int
	}{
		"by both":                               {[]string{turn, agent, session}, 1},
		"only by the session":                   {[]string{turn, session}, 1},
		"each turn has its own":                 {[]string{turn, agent, session, turn, agent, session}, 2},
		"the session may not report it":         {[]string{turn, agent, turn, agent, session}, 2},
		"a failure before the turn is reported": {[]string{turn, agent, session, failure, session}, 2},
		"a repetition is ignored":               {[]string{turn, agent, session, session}, 1},
		"each report of the agent counts":       {[]string{turn, agent, session, agent}, 2},
		"a prompt in between has its own":       {[]string{turn, agent, "user.message", session}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tr, got := sdk.NewTranslator("/project"), 0
			for _, kind := range tc.kinds {
				for _, b := range tr.Event(vendorEvent(t, kind, `{}`)) {
					if b == (event.Idle{}) {
						got++
					}
				}
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func FuzzTranslator(f *testing.F) {
	for kind := range strings.FieldsSeq(notices + " " + isInternalEvent) {
		f.Add(fmt.Sprintf(`{"type":%q,"id":"1","data":{}}`, kind), "")
	}
	for _, kind := range []string{"permission.requested", "permission.completed", "user_input.requested", "tool.execution_start", "tool.execution_complete", "session.error"} {
		f.Add(fmt.Sprintf(`{"type":%q,"data":null}`, kind), fmt.Sprintf(`{"type":%q,"data":{"permissionRequest":{"kind":"new"},"error":{},"choices":null}}`, kind))
	}
	for _, kind := range []string{
		"elicitation.requested", "elicitation.completed", "external_tool.requested", "external_tool.completed", "exit_plan_mode.requested",
		"exit_plan_mode.completed", "subagent.started", "subagent.completed", "subagent.failed", "session.compaction_start",
		"session.compaction_complete", "session.todos_changed", "assistant.usage",
	} {
		f.Add(fmt.Sprintf(`{"type":%q,"data":{}}`, kind), fmt.Sprintf(`{"type":%q,"data":{"actions":["a"],"recommendedAction":"b","arguments":null}}`, kind))
	}
	f.Add(`{"type":"tool.shell_output","data":{"toolCallId":"c","text":"x"}}`, `{"type":"tool.execution_partial_result","data":{"toolCallId":"c","partialOutput":"x"}}`)
	f.Add(`{"type":"permission.requested","data":{"permissionRequest":{"kind":"shell","commandSegments":[{}]}}}`, `{"type":"","data":1}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		tr := sdk.NewTranslator("/project")
		for _, text := range []string{first, second, first} {
			var e rpc.SessionEvent
			if json.Unmarshal([]byte(text), &e) != nil {
				continue
			}
			for _, b := range tr.Event(e) {
				check(t, b)
			}
		}
	})
}

// check checks the invariants of a body.
func check(t *testing.T, b event.Body) {
	t.Helper()
	switch b := b.(type) {
	case event.QuestionAsked:
		q := b.Question
		switch q.Kind {
		case event.AskPermission:
			assert.NotEmpty(t, q.Names)
			assert.NotEmpty(t, q.Title)
		case event.AskInput:
			assert.True(t, q.Freeform || len(q.Choices) > 0, "the question can be answered")
		case event.AskForm:
			assert.NotNil(t, q.Form)
		case event.AskTool:
			assert.True(t, q.Arguments == nil || json.Valid(q.Arguments))
		case event.AskPlan, event.AskSignIn:
		}
	case event.ToolEnded:
		assert.NotEqual(t, b.Result == nil, b.Error == nil, "either a result or an error")
	case event.ToolStarted:
		assert.True(t, b.Arguments == nil || json.Valid(b.Arguments))
	case event.Notice:
		assert.True(t, json.Valid(b.Raw), "%s", b.Raw)
	}
}

func TestInvalidFormDefaultsAreDropped(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		want   any
	}{
		"a text":                       {`{"type":"string","default":"x"}`, "x"},
		"a number":                     {`{"type":"number","default":1.5}`, 1.5},
		"a boolean":                    {`{"type":"boolean","default":false}`, false},
		"texts":                        {`{"type":"array","items":{"enum":["a","b"]},"default":["b"]}`, []string{"b"}},
		"a number for a string":        {`{"type":"string","default":1}`, nil},
		"an object":                    {`{"type":"string","default":{"a":1}}`, nil},
		"a value that is not a choice": {`{"type":"string","enum":["a"],"default":"b"}`, nil},
		"a list with other types":      {`{"type":"array","default":["a",1]}`, nil},
		"a fraction":                   {`{"type":"integer","default":0.5}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := sdk.NewTranslator("/project").Event(vendorEvent(t, "elicitation.requested",
				`{"requestId":"q","message":"?","requestedSchema":{"type":"object","properties":{"f":`+c.schema+`}}}`))
			require.Len(t, got, 1)
			asked, ok := got[0].(event.QuestionAsked)
			require.True(t, ok)
			require.Len(t, asked.Question.Form.Fields, 1)
			assert.Equal(t, c.want, asked.Question.Form.Fields[0].Default)
		})
	}
}
