package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// translator turns events of the CLI into those of the domain. It remembers
// what it needs to make up the starts that the CLI does not tell, and forgets
// all of it when nothing goes on in the session any more. While a command runs in
// the background that may be never, so it forgets what it can when the main agent
// is idle. Not for concurrent use.
type translator struct {
	directory string            // of the session
	tools     map[string]string // of clients, by the names that the CLI knows

	seen     idSet             // ids of events: after long bursts some come again
	thoughts map[string]string // reasoning that has begun, and whose it is
	messages map[string]string // messages that have begun, and whose they are
	shells   idSet             // tool calls whose output comes piece by piece, also when they have ended
	partial  map[string]string // of the others: the output so far
	agents   map[string]bool   // sub-agents that are at work
	settled  bool              // its idleness was told since the main agent began last
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
	t.seen, t.shells = idSet{most: maxSeen}, idSet{most: maxShells}
	t.thoughts, t.messages, t.partial = map[string]string{}, map[string]string{}, map[string]string{}
	t.agents = map[string]bool{}
}

// forgetRun forgets what nothing can come of any more when the main agent is
// idle: an abort leaves beginnings without their ends.
func (t *translator) forgetRun() {
	ended := func(_, whose string) bool { return !t.agents[whose] }
	maps.DeleteFunc(t.thoughts, ended)
	maps.DeleteFunc(t.messages, ended)
	if len(t.agents) == 0 {
		clear(t.partial)
	}
	t.seen.rotate()
}

// How many ids are remembered at the least.
const (
	maxSeen   = 1 << 15
	maxShells = 1 << 10
)

// event gives the domain's events for one of the CLI's: none, one or two.
func (t *translator) event(e vendor.SessionEvent) []event.Body {
	if e.Data == nil || t.seen.has(e.ID) {
		return nil
	}
	if e.ID != "" {
		t.seen.add(e.ID)
	}
	agent := text(e.AgentID)
	t.count(agent, e.Data)
	for _, translate := range []func(string, vendor.SessionEventData) ([]event.Body, bool){t.textEvents, t.toolEvents, t.questionEvents, t.questionEnded, t.planEvents} {
		if bodies, ok := translate(agent, e.Data); ok {
			return bodies
		}
	}
	if bodies, ok := t.sessionEvents(agent, e.Data); ok {
		return bodies
	}
	return notice(e.Data)
}

// count keeps the agents that are at work.
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

// textEvents translates what the model says.
func (t *translator) textEvents(agent string, data vendor.SessionEventData) ([]event.Body, bool) {
	switch d := data.(type) {
	case *rpc.AssistantTurnStartData:
		return one(event.TurnStarted{ID: d.TurnID})
	case *rpc.AssistantTurnEndData:
		return one(event.TurnEnded{ID: d.TurnID})
	case *rpc.AssistantReasoningDeltaData:
		return begin(t.thoughts, agent, d.ReasoningID, event.ReasoningStarted{ID: d.ReasoningID},
			event.ReasoningDelta{ID: d.ReasoningID, Text: d.DeltaContent}), true
	case *rpc.AssistantReasoningData:
		delete(t.thoughts, d.ReasoningID)
		return one(event.ReasoningEnded{ID: d.ReasoningID, Text: d.Content})
	case *rpc.AssistantMessageStartData:
		return begin(t.messages, agent, d.MessageID, event.MessageStarted{ID: d.MessageID}), true
	case *rpc.AssistantMessageDeltaData:
		return begin(t.messages, agent, d.MessageID, event.MessageStarted{ID: d.MessageID},
			event.MessageDelta{ID: d.MessageID, Text: d.DeltaContent}), true
	case *rpc.AssistantMessageData:
		delete(t.messages, d.MessageID)
		return one(event.MessageEnded{ID: d.MessageID, Text: d.Content})
	case *rpc.AssistantTurnRetryData:
		return append(t.abandonMessages(agent), notice(d)...), true
	}
	return nil, false
}

// abandonMessages ends what an agent had begun to say when the connection to its model
// broke: it will say it anew, under other ids.
func (t *translator) abandonMessages(agent string) []event.Body {
	var bodies []event.Body
	for id, whose := range t.thoughts {
		if whose == agent {
			bodies = append(bodies, event.ReasoningEnded{ID: id})
			delete(t.thoughts, id)
		}
	}
	for id, whose := range t.messages {
		if whose == agent {
			bodies = append(bodies, event.MessageEnded{ID: id})
			delete(t.messages, id)
		}
	}
	return bodies
}

// begin puts start before the rest where the id is new.
func begin(begun map[string]string, agent, id string, start event.Body, rest ...event.Body) []event.Body {
	if _, known := begun[id]; known {
		return rest
	}
	begun[id] = agent
	return append([]event.Body{start}, rest...)
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
		return one(toolEnded(d))
	case *rpc.RawSessionEventData:
		if d.EventType == "tool.shell_output" {
			return t.shellOutput(d.Raw), true
		}
	}
	return nil, false
}

// toolName is a client's own name of its tool.
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
		return nil, true // they are read, and told then
	}
	return nil, false
}

// compactionEnded has an error if it failed, even where the CLI tells none.
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

// sessionEvents translates the state of the session. Sub-agents have a state of their
// own, of which only failures count here.
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

// idle translates the end of the main agent's work. The CLI calls the session
// idle only when no command runs in the background any more, which of a server
// that the agent has started may be never. Else it does so some milliseconds
// later, when the next prompt may be there, and is not listened to. Sub-agents in
// the background are waited for: the main agent goes on with what they found.
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

// toolEnded has a result or an error, even where the CLI tells neither, and both of
// a command that failed: for the CLI any command that ran is a success.
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

// exitCode is that of the command that a call has run, 0 if it ran none or does not
// tell.
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

// shellOutput reads what the SDK does not know: output as it comes.
func (t *translator) shellOutput(data json.RawMessage) []event.Body {
	var d struct {
		ToolCallID string `json:"toolCallId"`
		Text       string `json:"text"`
	}
	if json.Unmarshal(data, &d) != nil || d.Text == "" {
		return nil // then the result has it
	}
	t.shells.add(d.ToolCallID)
	return []event.Body{event.ToolOutput{ID: d.ToolCallID, Text: d.Text}}
}

// partialOutput makes pieces of output that is told from its beginning again
// and again. Shells tell it piece by piece besides.
func (t *translator) partialOutput(d *rpc.ToolExecutionPartialResultData) []event.Body {
	if t.shells.has(d.ToolCallID) {
		return nil
	}
	fresh, ok := strings.CutPrefix(d.PartialOutput, t.partial[d.ToolCallID])
	t.partial[d.ToolCallID] = d.PartialOutput
	if !ok || fresh == "" { // rewritten, such as a progress line: the result will have it
		return nil
	}
	return []event.Body{event.ToolOutput{ID: d.ToolCallID, Text: fresh}}
}

// notice keeps what has no type in the domain, but for the runtime's internal
// chatter and what the portal recorded itself.
func notice(data vendor.SessionEventData) []event.Body {
	kind := string(data.Type())
	if isInternalEvent(kind) {
		return nil
	}
	return []event.Body{event.Notice{Kind: kind, Raw: raw(data)}}
}

func isInternalEvent(kind string) bool {
	for _, prefix := range []string{
		"model.", "system.", "hook.", "pending_messages.", "permission.", "sandbox.", "capabilities.", "commands.", "prompt_cache_break",
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

// raw is v as JSON, nil for nothing.
func raw(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil // it came as JSON
	}
	return b
}
