package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// translator translates events of the CLI to events of the domain. It tracks what it needs to add starts that
// the CLI does not report, and forgets everything when the session becomes idle. While a command runs in the
// background, that may never happen, so it forgets what it can when the main agent is idle. It is not safe
// for concurrent use.
type translator struct {
	directory string            // of the session
	tools     map[string]string // client tools, by the CLI's names

	seen     idSet // ids of events, except pieces of texts: after long bursts some are repeated
	thoughts openTexts
	messages openTexts
	sizes    map[string]int64  // of the current responses, by sub-agents
	shells   idSet             // tool calls with streamed output, including ended ones
	ended    idSet             // tool calls: a command that went on in the background still has output
	partial  map[string]string // output so far of the others
	agents   map[string]bool   // active sub-agents
	settled  bool              // idleness was reported since the main agent last started
}

func newTranslator(directory string, tools []event.Tool) translator {
	t := translator{directory: directory, tools: map[string]string{}}
	for _, tool := range tools {
		t.tools[tool.Alias()] = tool.Name
	}
	t.forget()
	return t
}

func (t *translator) forget() {
	t.seen, t.shells, t.ended = idSet{most: maxSeen}, idSet{most: maxShells}, idSet{most: maxShells}
	t.thoughts, t.messages, t.partial = openThoughts(), openMessages(), map[string]string{}
	t.sizes, t.agents = map[string]int64{}, map[string]bool{}
}

// forgetRun forgets what can no longer continue when the main agent is idle: an abort leaves starts without
// ends.
func (t *translator) forgetRun() {
	t.thoughts.forget(t.agents)
	t.messages.forget(t.agents)
	maps.DeleteFunc(t.sizes, func(whose string, _ int64) bool { return !t.agents[whose] })
	if len(t.agents) == 0 {
		clear(t.partial)
	}
	t.seen.rotate()
}

// The minimum numbers of ids remembered.
const (
	maxSeen   = 1 << 15
	maxShells = 1 << 10
)

// event translates one event of the CLI to none, one or two events of the domain.
func (t *translator) event(e vendor.SessionEvent) []event.Body {
	agent := text(e.AgentID)
	if bodies, ok := t.pieceEvents(agent, e); ok || e.Data == nil || t.seen.has(e.ID) {
		return bodies
	}
	if e.ID != "" {
		t.seen.add(e.ID)
	}
	t.count(agent, e.Data)
	for _, translate := range []func(string, vendor.SessionEventData) ([]event.Body, bool){t.textEvents, t.toolEvents, t.questionEvents, t.questionEnded, t.planEvents, t.sessionEvents} {
		if bodies, ok := translate(agent, e.Data); ok {
			return bodies
		}
	}
	return notice(e.Data)
}

// pieceEvents translates pieces of what the model says, which are nearly all events.
func (t *translator) pieceEvents(agent string, e vendor.SessionEvent) ([]event.Body, bool) {
	switch d := e.Data.(type) {
	case *rpc.AssistantStreamingDeltaData:
		t.sizes[agent] = max(t.sizes[agent], d.TotalResponseSizeBytes)
		return nil, true
	case *rpc.AssistantReasoningDeltaData:
		return t.thoughts.add(agent, d.ReasoningID, d.DeltaContent, e, t.sizes[agent]), true
	case *rpc.AssistantMessageDeltaData:
		return t.messages.add(agent, d.MessageID, d.DeltaContent, e, t.sizes[agent]), true
	case *rpc.AssistantToolCallDeltaData:
		return nil, true
	}
	return nil, false
}

// count tracks the active agents.
func (t *translator) count(agent string, data vendor.SessionEventData) {
	switch data.(type) {
	case *rpc.AssistantTurnStartData, *rpc.SessionErrorData:
		t.settled = t.settled && agent != ""
	case *rpc.SubagentStartedData:
		t.agents[agent] = true
	case *rpc.SubagentCompletedData, *rpc.SubagentFailedData:
		delete(t.agents, agent)
	}
}

func one(b event.Body) ([]event.Body, bool) { return []event.Body{b}, true }

// textEvents translates the model's texts.
func (t *translator) textEvents(agent string, data vendor.SessionEventData) ([]event.Body, bool) {
	switch d := data.(type) {
	case *rpc.AssistantTurnStartData:
		delete(t.sizes, agent)
		return one(event.TurnStarted{ID: d.TurnID})
	case *rpc.AssistantTurnEndData:
		return one(event.TurnEnded{ID: d.TurnID})
	case *rpc.AssistantReasoningData:
		return t.thoughts.end(d.ReasoningID, d.Content), true
	case *rpc.AssistantMessageStartData:
		return t.messages.begin(agent, d.MessageID), true
	case *rpc.AssistantMessageData:
		return t.messages.end(d.MessageID, d.Content), true
	case *rpc.AssistantTurnRetryData:
		// The agent's connection to its model broke: it will repeat its texts under other ids.
		delete(t.sizes, agent)
		return slices.Concat(t.thoughts.abandon(agent), t.messages.abandon(agent), notice(d)), true
	}
	return nil, false
}

// toolEvents translates what the agent does.
func (t *translator) toolEvents(_ string, data vendor.SessionEventData) ([]event.Body, bool) {
	switch d := data.(type) {
	case *rpc.ToolExecutionStartData:
		return one(event.ToolStarted{ID: d.ToolCallID, Parent: text(d.ParentToolCallID), Name: t.toolName(d.ToolName), Arguments: raw(d.Arguments)})
	case *rpc.ToolExecutionPartialResultData:
		return t.partialOutput(d), true
	case *rpc.ToolExecutionCompleteData:
		delete(t.partial, d.ToolCallID)
		t.ended.add(d.ToolCallID)
		return one(toolEnded(d))
	case *rpc.RawSessionEventData:
		if d.EventType == "tool.shell_output" {
			return t.shellOutput(d.Raw), true
		}
	}
	return nil, false
}

// toolName returns a client's own name of its tool.
func (t *translator) toolName(name string) string {
	if own, ok := t.tools[name]; ok {
		return own
	}
	return name
}

// planEvents translates how the agent organizes its work.
func (t *translator) planEvents(agent string, data vendor.SessionEventData) ([]event.Body, bool) {
	switch d := data.(type) {
	case *rpc.SubagentStartedData:
		return one(event.SubagentStarted{ID: agent, Call: d.ToolCallID, Name: d.AgentName, Title: d.AgentDisplayName})
	case *rpc.SubagentCompletedData:
		end := event.SubagentEnded{ID: agent, Outcome: event.Completed, Tokens: number(d.TotalTokens), ToolCalls: number(d.TotalToolCalls)}
		end.Duration = time.Duration(number(d.DurationMs)) * time.Millisecond
		if d.Cancelled != nil && *d.Cancelled {
			end.Outcome = event.Cancelled
		}
		return one(end)
	case *rpc.SubagentFailedData:
		end := event.SubagentEnded{ID: agent, Outcome: event.Failed, Error: d.Error, Tokens: number(d.TotalTokens), ToolCalls: number(d.TotalToolCalls)}
		end.Duration = time.Duration(number(d.DurationMs)) * time.Millisecond
		return one(end)
	case *rpc.SessionCompactionStartData:
		return one(event.CompactionStarted{Used: number(d.CurrentTokens)})
	case *rpc.SessionCompactionCompleteData:
		return one(compactionEnded(d))
	case *rpc.AssistantUsageData:
		return one(event.ModelCalled{
			Model: d.Model, Input: number(d.InputTokens), Output: number(d.OutputTokens), Cached: number(d.CacheReadTokens),
		})
	case *rpc.SessionMCPServerStatusChangedData:
		return one(event.ServerChanged{Server: event.Server{Name: d.ServerName, State: serverState(d.Status), Error: text(d.Error)}})
	case *rpc.SessionTodosChangedData:
		return nil, true // they are read and then reported
	}
	return nil, false
}

// compactionEnded always has an error if the compaction failed, even if the CLI gives none.
func compactionEnded(d *rpc.SessionCompactionCompleteData) event.CompactionEnded {
	end := event.CompactionEnded{
		Before: number(d.PreCompactionTokens), After: number(d.PostCompactionTokens),
		Summary: text(d.SummaryContent), Error: text(d.Error),
	}
	if !d.Success && end.Error == "" {
		end.Error = "the compaction failed"
	}
	return end
}

// sessionEvents translates the state of the session. Of sub-agents, which have a state of their own, only
// failures matter here.
func (t *translator) sessionEvents(agent string, data vendor.SessionEventData) ([]event.Body, bool) {
	if d, ok := data.(*rpc.SessionErrorData); ok {
		return one(event.SessionError{Kind: failureKind(d), Text: d.Message})
	}
	if agent != "" {
		return nil, false
	}
	switch d := data.(type) {
	case *rpc.AssistantIdleData:
		return t.idle(d.Aborted != nil && *d.Aborted), true
	case *rpc.SessionIdleData:
		t.forget()
		if t.settled {
			return nil, true
		}
		t.settled = true
		return one(event.Idle{Aborted: d.Aborted != nil && *d.Aborted})
	case *rpc.SessionTitleChangedData:
		return one(event.TitleChanged{Title: d.Title})
	case *rpc.SessionModelChangeData:
		return one(event.ModelChanged{Model: d.NewModel})
	case *rpc.SessionUsageInfoData:
		return one(event.UsageChanged{Used: d.CurrentTokens, Limit: d.TokenLimit})
	}
	return nil, false
}

// idle translates the end of the main agent's work. The CLI reports the session as idle only when no
// background command is running, which may never happen if the agent has started a server. Otherwise it does
// so some milliseconds later, possibly after the next prompt, and is then ignored. Background sub-agents are
// waited for, because the main agent continues with their results.
func (t *translator) idle(aborted bool) []event.Body {
	t.forgetRun()
	if len(t.agents) > 0 && !aborted {
		return nil
	}
	t.settled = true
	return []event.Body{event.Idle{Aborted: aborted}}
}

func failureKind(d *rpc.SessionErrorData) fault.Kind {
	switch d.ErrorType {
	case "authentication":
		return fault.Unauthenticated
	case "quota", "rate_limit":
		return fault.Unavailable
	}
	return fault.Internal
}

// toolEnded always has a result or an error, even if the CLI gives neither, and both for a command that
// failed, because the CLI considers every command that ran a success.
func toolEnded(d *rpc.ToolExecutionCompleteData) event.ToolEnded {
	switch {
	case d.Result != nil && exitCode(d) != 0:
		return event.ToolEnded{
			ID: d.ToolCallID, Result: &event.ToolResult{Content: d.Result.Content, Detail: text(d.Result.DetailedContent)},
			Error: &event.ToolError{Text: fmt.Sprintf("exit code %d", exitCode(d)), Code: event.CodeExit},
		}
	case d.Error != nil:
		return event.ToolEnded{ID: d.ToolCallID, Error: &event.ToolError{Text: d.Error.Message, Code: text(d.Error.Code)}}
	case d.Result != nil:
		return event.ToolEnded{ID: d.ToolCallID, Result: &event.ToolResult{Content: d.Result.Content, Detail: text(d.Result.DetailedContent)}}
	case d.Success:
		return event.ToolEnded{ID: d.ToolCallID, Result: &event.ToolResult{}}
	}
	return event.ToolEnded{ID: d.ToolCallID, Error: &event.ToolError{Text: "the tool failed"}}
}

// exitCode returns the exit code of the command that a call ran; 0 if it ran none or the code is unknown.
func exitCode(d *rpc.ToolExecutionCompleteData) int64 {
	if d.ShellExecution != nil {
		return d.ShellExecution.ExitCode
	}
	if d.Result == nil {
		return 0
	}
	for _, c := range d.Result.Contents {
		switch c := c.(type) {
		case *rpc.ToolExecutionCompleteContentShellExit:
			return c.ExitCode
		case *rpc.ToolExecutionCompleteContentTerminal:
			return number(c.ExitCode)
		}
	}
	return 0
}

// shellOutput decodes an event that the SDK does not know: streamed output.
func (t *translator) shellOutput(data json.RawMessage) []event.Body {
	var d struct {
		ToolCallID string `json:"toolCallId"`
		Text       string `json:"text"`
	}
	if json.Unmarshal(data, &d) != nil || d.Text == "" {
		return nil // the result will contain it
	}
	if t.ended.has(d.ToolCallID) {
		return nil // the agent reads it with another call
	}
	t.shells.add(d.ToolCallID)
	return []event.Body{event.ToolOutput{ID: d.ToolCallID, Text: d.Text}}
}

// partialOutput converts output that is repeated from its start in each event to deltas. Output of shells is
// also streamed.
func (t *translator) partialOutput(d *rpc.ToolExecutionPartialResultData) []event.Body {
	if t.shells.has(d.ToolCallID) || t.ended.has(d.ToolCallID) {
		return nil
	}
	fresh, ok := strings.CutPrefix(d.PartialOutput, t.partial[d.ToolCallID])
	t.partial[d.ToolCallID] = d.PartialOutput
	if !ok || fresh == "" { // rewritten, such as a progress line: the result will contain it
		return nil
	}
	return []event.Body{event.ToolOutput{ID: d.ToolCallID, Text: fresh}}
}

// notice keeps events without a type in the domain, except internal ones of the runtime and those that the
// portal recorded itself.
func notice(data vendor.SessionEventData) []event.Body {
	kind := string(data.Type())
	if isInternalEvent(kind) {
		return nil
	}
	return []event.Body{event.Notice{Kind: kind, Raw: raw(data)}}
}

func isInternalEvent(kind string) bool {
	for _, prefix := range []string{
		"model.", "system.", "hook.", "pending_messages.", "permission.", "sandbox.", "capabilities.", "commands.", "prompt_cache_break", "ui.ephemeral_query",
		"assistant.streaming_delta", "assistant.tool_call_delta", "assistant.idle", "user.message",
		"session.start", "session.resume", "session.shutdown", "session.managed_settings", "session.tools_updated",
		"session.background_tasks", "session.skills_loaded", "session.mcp_servers_loaded", "session.context_changed", "session.usage_checkpoint",
	} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// raw returns v as JSON, or nil.
func raw(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil // it was decoded from JSON
	}
	return b
}
