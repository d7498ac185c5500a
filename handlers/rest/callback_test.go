package rest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/handlers/rest"
)

func TestEachEventHasItsCallback(t *testing.T) {
	for _, c := range []struct {
		name string
		body copilot.Body
		want string
	}{
		{"reasoning begins", copilot.ReasoningStarted{ID: "r"}, `{"callback":"onStartReasoning","reasoningId":"r"}`},
		{"reasoning goes on", copilot.ReasoningDelta{ID: "r", Text: "t"}, `{"callback":"onReasoning","reasoningId":"r","delta":"t"}`},
		{"reasoning is complete", copilot.ReasoningEnded{ID: "r", Text: "t"}, `{"callback":"onEndReasoning","reasoningId":"r","completeContent":"t"}`},
		{"a message begins", copilot.MessageStarted{ID: "m"}, `{"callback":"onStartMessage","messageId":"m"}`},
		{"a message goes on", copilot.MessageDelta{ID: "m", Text: "t"}, `{"callback":"onMessage","messageId":"m","delta":"t"}`},
		{"a message without text keeps its content", copilot.MessageEnded{ID: "m"}, `{"callback":"onEndMessage","messageId":"m","completeContent":""}`},
		{
			"arguments are indented by two blanks",
			copilot.ToolStarted{ID: "c", Name: "bash", Arguments: json.RawMessage(`{"command":"ls"}`)},
			`{"callback":"onStartToolExecution","toolCallId":"c","toolName":"bash","toolArguments":"{\n  \"command\": \"ls\"\n}"}`,
		},
		{
			"a call of a sub-agent names its parent, and no arguments are an empty text",
			copilot.ToolStarted{ID: "c", Parent: "p", Name: "x"},
			`{"callback":"onStartToolExecution","toolCallId":"c","parentToolCallId":"p","toolName":"x","toolArguments":""}`,
		},
		{"a tool writes", copilot.ToolOutput{ID: "c", Text: "o"}, `{"callback":"onToolExecution","toolCallId":"c","delta":"o"}`},
		{
			"a result without detail has no such key",
			copilot.ToolEnded{ID: "c", Result: &copilot.ToolResult{Content: "o"}},
			`{"callback":"onEndToolExecution","toolCallId":"c","result":{"content":"o"}}`,
		},
		{
			"an error without code has no such key",
			copilot.ToolEnded{ID: "c", Error: &copilot.ToolError{Text: "no"}},
			`{"callback":"onEndToolExecution","toolCallId":"c","error":{"message":"no"}}`,
		},
		{"a turn begins", copilot.TurnStarted{ID: "0"}, `{"callback":"onAgentStart","turnId":"0"}`},
		{"a turn ends", copilot.TurnEnded{ID: "0"}, `{"callback":"onAgentEnd","turnId":"0"}`},
		{"a run is complete", copilot.RunEnded{Outcome: copilot.Completed}, `{"callback":"onIdle"}`},
		{"a failed run ends the same way", copilot.RunEnded{Outcome: copilot.Failed, Text: "x"}, `{"callback":"onIdle"}`},
		{"a failure", copilot.SessionFailed{Text: "broken"}, `{"sessionError":"broken"}`},
		{
			"a permission",
			copilot.QuestionAsked{Question: copilot.Question{ID: "q", Kind: copilot.AskPermission, Names: []string{"exec.run"}, Title: "T", Detail: "ls"}},
			`{"callback":"onPermissionRequest","requestId":"q","name":"exec.run","title":"T","detail":"ls"}`,
		},
		{
			"a question with choices",
			copilot.QuestionAsked{Question: copilot.Question{ID: "q", Kind: copilot.AskInput, Text: "?", Choices: []string{"a"}}},
			`{"callback":"onUserInputRequest","requestId":"q","question":"?","choices":["a"],"freeform":false}`,
		},
		{
			"a question without choices",
			copilot.QuestionAsked{Question: copilot.Question{ID: "q", Kind: copilot.AskInput, Text: "?", Freeform: true}},
			`{"callback":"onUserInputRequest","requestId":"q","question":"?","freeform":true}`,
		},
		{"an answer", copilot.QuestionAnswered{ID: "q", By: "rest", Ending: copilot.Answered}, `{"callback":"onQuestionAnswered","requestId":"q","by":"rest"}`},
		{"a withdrawn question", copilot.QuestionAnswered{ID: "q", Ending: copilot.Withdrawn}, `{"callback":"onQuestionAnswered","requestId":"q","by":"cancelled"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			response, ok := rest.Callback(c.body)
			require.True(t, ok)
			got, err := json.Marshal(response)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(got)) // the order of the keys, too
		})
	}
}

func TestOtherEventsHaveNoCallback(t *testing.T) {
	for _, body := range []copilot.Body{
		copilot.SessionOpened{},
		copilot.SessionClosed{},
		copilot.RunStarted{},
		copilot.UserMessage{},
		copilot.ModelChanged{},
		copilot.TitleChanged{},
		copilot.UsageChanged{},
		copilot.Notice{},
		copilot.Idle{},
	} {
		_, ok := rest.Callback(body)
		assert.False(t, ok, "%T", body)
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	for _, seed := range []string{`{"approved":true}`, `{"answer":"x"}`, `{}`, `null`, `[1]`, `{"approved":"yes"}`, `{"approved":false,"reason":"\u0000"}`, ``, `{"answer":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		answer, err := rest.DecodeAnswer(b)
		if err != nil {
			assert.Equal(t, copilot.Invalid, copilot.KindOf(err))
			assert.Zero(t, answer)
		}
	})
}
