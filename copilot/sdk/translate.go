package sdk

import (
	"encoding/json"
	"strings"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot"
)

// translator turns events of the CLI into those of the domain. It remembers
// what it needs to make up the starts that the CLI does not tell, and forgets
// all of it when nothing goes on in the session any more. Not for concurrent use.
type translator struct {
	directory string // of the session

	seen     map[string]bool   // ids of events: after long bursts some come again
	thoughts map[string]bool   // reasoning that has begun
	messages map[string]bool   // messages that have begun
	shells   map[string]bool   // tool calls whose output comes piece by piece
	partial  map[string]string // of the others: the output so far
	agents   map[string]bool   // sub-agents that are at work
}

func newTranslator(directory string) translator {
	t := translator{directory: directory}
	t.forget()
	return t
}

func (t *translator) forget() {
	t.seen, t.thoughts, t.messages = map[string]bool{}, map[string]bool{}, map[string]bool{}
	t.shells, t.partial = map[string]bool{}, map[string]string{}
	t.agents = map[string]bool{}
}

// maxSeen bounds the memory for ids of events within one run.
const maxSeen = 1 << 16

// event gives the domain's events for one of the CLI's: none, one or two.
func (t *translator) event(e vendor.SessionEvent) []copilot.Body {
	if e.Data == nil || t.seen[e.ID] {
		return nil
	}
	if len(t.seen) >= maxSeen {
		clear(t.seen)
	}
	if e.ID != "" {
		t.seen[e.ID] = true
	}
	agent := text(e.AgentID)
	t.count(agent, e.Data)
	if bodies, ok := t.said(e.Data); ok {
		return bodies
	}
	if bodies, ok := t.done(e.Data); ok {
		return bodies
	}
	if bodies, ok := t.session(agent, e.Data); ok {
		return bodies
	}
	return notice(e.Data)
}

// count keeps the sub-agents that are at work.
func (t *translator) count(agent string, data vendor.SessionEventData) {
	switch data.(type) {
	case *rpc.SubagentStartedData:
		t.agents[agent] = true
	case *rpc.SubagentCompletedData, *rpc.SubagentFailedData:
		delete(t.agents, agent)
	}
}

func one(b copilot.Body) ([]copilot.Body, bool) { return []copilot.Body{b}, true }

// said translates what the model says.
func (t *translator) said(data vendor.SessionEventData) ([]copilot.Body, bool) {
	switch d := data.(type) {
	case *rpc.AssistantTurnStartData:
		return one(copilot.TurnStarted{ID: d.TurnID})
	case *rpc.AssistantTurnEndData:
		return one(copilot.TurnEnded{ID: d.TurnID})
	case *rpc.AssistantReasoningDeltaData:
		return begin(t.thoughts, d.ReasoningID, copilot.ReasoningStarted{ID: d.ReasoningID},
			copilot.ReasoningDelta{ID: d.ReasoningID, Text: d.DeltaContent}), true
	case *rpc.AssistantReasoningData:
		delete(t.thoughts, d.ReasoningID)
		return one(copilot.ReasoningEnded{ID: d.ReasoningID, Text: d.Content})
	case *rpc.AssistantMessageStartData:
		return begin(t.messages, d.MessageID, copilot.MessageStarted{ID: d.MessageID}), true
	case *rpc.AssistantMessageDeltaData:
		return begin(t.messages, d.MessageID, copilot.MessageStarted{ID: d.MessageID},
			copilot.MessageDelta{ID: d.MessageID, Text: d.DeltaContent}), true
	case *rpc.AssistantMessageData:
		delete(t.messages, d.MessageID)
		return one(copilot.MessageEnded{ID: d.MessageID, Text: d.Content})
	}
	return nil, false
}

// begin puts start before the rest where the id is new.
func begin(begun map[string]bool, id string, start copilot.Body, rest ...copilot.Body) []copilot.Body {
	if begun[id] {
		return rest
	}
	begun[id] = true
	return append([]copilot.Body{start}, rest...)
}

// done translates what the agent does and asks.
func (t *translator) done(data vendor.SessionEventData) ([]copilot.Body, bool) {
	switch d := data.(type) {
	case *rpc.ToolExecutionStartData:
		return one(copilot.ToolStarted{ID: d.ToolCallID, Parent: text(d.ParentToolCallID), Name: d.ToolName, Arguments: raw(d.Arguments)})
	case *rpc.ToolExecutionPartialResultData:
		return t.partialOutput(d), true
	case *rpc.ToolExecutionCompleteData:
		delete(t.partial, d.ToolCallID)
		return one(toolEnded(d))
	case *rpc.PermissionRequestedData:
		if d.ResolvedByHook != nil && *d.ResolvedByHook {
			return nil, true
		}
		return one(copilot.QuestionAsked{Question: permission(d, t.directory)})
	case *rpc.PermissionCompletedData:
		return one(copilot.QuestionAnswered{ID: d.RequestID, Ending: copilot.Withdrawn})
	case *rpc.UserInputRequestedData:
		return one(copilot.QuestionAsked{Question: userInput(d)})
	case *rpc.UserInputCompletedData:
		return one(copilot.QuestionAnswered{ID: d.RequestID, Ending: copilot.Withdrawn})
	case *rpc.RawSessionEventData:
		if d.EventType == "tool.shell_output" {
			return t.shellOutput(d.Raw), true
		}
	}
	return nil, false
}

// session translates the state of the session. Sub-agents have a state of their
// own, of which only failures count here.
func (t *translator) session(agent string, data vendor.SessionEventData) ([]copilot.Body, bool) {
	if d, ok := data.(*rpc.SessionErrorData); ok {
		return one(copilot.SessionFailed{Kind: failureKind(d), Text: d.Message})
	}
	if agent != "" {
		return nil, false
	}
	switch d := data.(type) {
	case *rpc.AssistantIdleData:
		return t.idle(d.Aborted != nil && *d.Aborted), true
	case *rpc.SessionIdleData:
		t.forget()
		return one(copilot.Idle{Aborted: d.Aborted != nil && *d.Aborted})
	case *rpc.SessionTitleChangedData:
		return one(copilot.TitleChanged{Title: d.Title})
	case *rpc.SessionModelChangeData:
		return one(copilot.ModelChanged{Model: d.NewModel})
	case *rpc.SessionUsageInfoData:
		return one(copilot.UsageChanged{Used: d.CurrentTokens, Limit: d.TokenLimit})
	}
	return nil, false
}

// idle translates the end of the main agent's work. The CLI calls the session
// idle only when no command runs in the background any more, which of a server
// that the agent has started may be never. Sub-agents in the background are
// waited for: the main agent goes on with what they found.
func (t *translator) idle(aborted bool) []copilot.Body {
	if len(t.agents) > 0 && !aborted {
		return nil
	}
	return []copilot.Body{copilot.Idle{Aborted: aborted}}
}

func failureKind(d *rpc.SessionErrorData) copilot.Kind {
	switch d.ErrorType {
	case "authentication":
		return copilot.Unauthenticated
	case "quota", "rate_limit":
		return copilot.Unavailable
	}
	return copilot.Internal
}

// toolEnded has a result or an error, even where the CLI tells neither.
func toolEnded(d *rpc.ToolExecutionCompleteData) copilot.ToolEnded {
	switch {
	case d.Error != nil:
		return copilot.ToolEnded{ID: d.ToolCallID, Error: &copilot.ToolError{Text: d.Error.Message, Code: text(d.Error.Code)}}
	case d.Result != nil:
		return copilot.ToolEnded{ID: d.ToolCallID, Result: &copilot.ToolResult{Content: d.Result.Content, Detail: text(d.Result.DetailedContent)}}
	case d.Success:
		return copilot.ToolEnded{ID: d.ToolCallID, Result: &copilot.ToolResult{}}
	}
	return copilot.ToolEnded{ID: d.ToolCallID, Error: &copilot.ToolError{Text: "the tool failed"}}
}

// shellOutput reads what the SDK does not know: output as it comes.
func (t *translator) shellOutput(data json.RawMessage) []copilot.Body {
	var d struct {
		ToolCallID string `json:"toolCallId"`
		Text       string `json:"text"`
	}
	if json.Unmarshal(data, &d) != nil || d.Text == "" {
		return nil // then the result has it
	}
	t.shells[d.ToolCallID] = true
	return []copilot.Body{copilot.ToolOutput{ID: d.ToolCallID, Text: d.Text}}
}

// partialOutput makes pieces of output that is told from its beginning again
// and again. Shells tell it piece by piece besides.
func (t *translator) partialOutput(d *rpc.ToolExecutionPartialResultData) []copilot.Body {
	if t.shells[d.ToolCallID] {
		return nil
	}
	fresh, ok := strings.CutPrefix(d.PartialOutput, t.partial[d.ToolCallID])
	t.partial[d.ToolCallID] = d.PartialOutput
	if !ok || fresh == "" { // rewritten, such as a progress line: the result will have it
		return nil
	}
	return []copilot.Body{copilot.ToolOutput{ID: d.ToolCallID, Text: fresh}}
}

// notice keeps what has no type in the domain, but for the runtime's internal
// chatter and what the portal recorded itself.
func notice(data vendor.SessionEventData) []copilot.Body {
	kind := string(data.Type())
	if chatter(kind) {
		return nil
	}
	return []copilot.Body{copilot.Notice{Kind: kind, Raw: raw(data)}}
}

func chatter(kind string) bool {
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
