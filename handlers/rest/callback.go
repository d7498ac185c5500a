package rest

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/jobs"
)

// encodeCallback encodes the domain's events as responses of
// `live`: the methods of ICopilotSessionCallbacks by name, and the portal's own
// (spec/contracts/portal-rest.notes.md). ok is false for events that this dialect does not report.
func encodeCallback(b event.Body) (response any, ok bool) {
	if r := encodeText(b); r != nil {
		return r, true
	}
	r := encodeAction(b)
	return r, r != nil
}

// encodeText encodes texts of the model and prompts of tasks; nil for other events.
func encodeText(b event.Body) any {
	switch b := b.(type) {
	case event.UserMessage:
		if b.Prompt.By == jobs.Origin { // the reader of live sent all other prompts
			return onGeneratedUserPrompt{"onGeneratedUserPrompt", b.Prompt.Text}
		}
	case event.ReasoningStarted:
		return onStartReasoning{"onStartReasoning", b.ID}
	case event.ReasoningDelta:
		return onReasoning{"onReasoning", b.ID, b.Text}
	case event.ReasoningEnded:
		return onEndReasoning{"onEndReasoning", b.ID, b.Text}
	case event.MessageStarted:
		return onStartMessage{"onStartMessage", b.ID}
	case event.MessageDelta:
		return onMessage{"onMessage", b.ID, b.Text}
	case event.MessageEnded:
		return onEndMessage{"onEndMessage", b.ID, b.Text}
	}
	return nil
}

// encodeAction encodes tool calls, questions, turns and the end of a run; nil for other events.
func encodeAction(b event.Body) any {
	switch b := b.(type) {
	case event.ToolStarted:
		return onStartToolExecution{"onStartToolExecution", b.ID, b.Parent, b.Name, indented(b.Arguments)}
	case event.ToolOutput:
		return onToolExecution{"onToolExecution", b.ID, b.Text}
	case event.ToolEnded:
		return toolEnded(b)
	case event.TurnStarted:
		return onAgent{"onAgentStart", b.ID}
	case event.TurnEnded:
		return onAgent{"onAgentEnd", b.ID}
	case event.RunEnded:
		return onIdle{"onIdle"}
	case event.SessionError:
		return sessionError{strings.TrimSpace(b.Text + "\n" + b.Hint)}
	case event.QuestionAsked:
		return encodeQuestion(b.Question)
	case event.QuestionClosed:
		if b.Kind == event.AskTool {
			return nil // the question was not reported either
		}
		return onQuestionAnswered{"onQuestionAnswered", b.ID, answeredBy(b)}
	case event.SessionOpened, event.SessionClosed, event.ModelChanged, event.TitleChanged, event.PolicyChanged, event.UsageChanged,
		event.ModelCalled, event.CompactionStarted, event.CompactionEnded, event.ServerChanged, event.Notice, event.RunStarted,
		event.QueueChanged, event.PlanChanged, event.SubagentStarted, event.SubagentEnded, event.FilesRestored: // ignored
	}
	return nil
}

type (
	onStartReasoning struct {
		Callback    string `json:"callback"`
		ReasoningID string `json:"reasoningId"`
	}
	onReasoning struct {
		Callback    string `json:"callback"`
		ReasoningID string `json:"reasoningId"`
		Delta       string `json:"delta"`
	}
	onEndReasoning struct {
		Callback        string `json:"callback"`
		ReasoningID     string `json:"reasoningId"`
		CompleteContent string `json:"completeContent"`
	}
	onStartMessage struct {
		Callback  string `json:"callback"`
		MessageID string `json:"messageId"`
	}
	onMessage struct {
		Callback  string `json:"callback"`
		MessageID string `json:"messageId"`
		Delta     string `json:"delta"`
	}
	onEndMessage struct {
		Callback        string `json:"callback"`
		MessageID       string `json:"messageId"`
		CompleteContent string `json:"completeContent"`
	}
	onStartToolExecution struct {
		Callback         string `json:"callback"`
		ToolCallID       string `json:"toolCallId"`
		ParentToolCallID string `json:"parentToolCallId,omitempty"`
		ToolName         string `json:"toolName"`
		ToolArguments    string `json:"toolArguments"`
	}
	onToolExecution struct {
		Callback   string `json:"callback"`
		ToolCallID string `json:"toolCallId"`
		Delta      string `json:"delta"`
	}
	onEndToolExecution struct {
		Callback   string      `json:"callback"`
		ToolCallID string      `json:"toolCallId"`
		Result     *toolResult `json:"result,omitempty"`
		Error      *toolError  `json:"error,omitempty"`
	}
	toolResult struct {
		Content         string `json:"content"`
		DetailedContent string `json:"detailedContent,omitempty"`
	}
	toolError struct {
		Message string `json:"message"`
		Code    string `json:"code,omitempty"`
	}
	onAgent struct {
		Callback string `json:"callback"`
		TurnID   string `json:"turnId"`
	}
	onIdle struct {
		Callback string `json:"callback"`
	}
	onGeneratedUserPrompt struct {
		Callback string `json:"callback"`
		Prompt   string `json:"prompt"`
	}
	sessionError struct {
		SessionError string `json:"sessionError"`
	}
	onUserMessage struct {
		Callback string `json:"callback"`
		RunID    string `json:"runId"`
		Content  string `json:"content"`
	}
)

func toolEnded(b event.ToolEnded) onEndToolExecution {
	end := onEndToolExecution{Callback: "onEndToolExecution", ToolCallID: b.ID}
	if b.Result != nil {
		end.Result = &toolResult{b.Result.Content, b.Result.Detail}
	}
	if b.Error != nil {
		end.Error = &toolError{b.Error.Text, b.Error.Code}
	}
	return end
}

// indented returns JSON indented by two spaces, "" for none.
func indented(arguments json.RawMessage) string {
	var out bytes.Buffer
	if len(arguments) == 0 || json.Indent(&out, arguments, "", "  ") != nil {
		return string(arguments)
	}
	return out.String()
}
