package rest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/rest"
)

func TestEachEventHasItsCallback(t *testing.T) {
	for _, c := range []struct {
		name string
		body event.Body
		want string
	}{
		{"reasoning begins", event.ReasoningStarted{ID: "r"}, `{"callback":"onStartReasoning","reasoningId":"r"}`},
		{"reasoning goes on", event.ReasoningDelta{ID: "r", Text: "t"}, `{"callback":"onReasoning","reasoningId":"r","delta":"t"}`},
		{"reasoning is complete", event.ReasoningEnded{ID: "r", Text: "t"}, `{"callback":"onEndReasoning","reasoningId":"r","completeContent":"t"}`},
		{"a message begins", event.MessageStarted{ID: "m"}, `{"callback":"onStartMessage","messageId":"m"}`},
		{"a message goes on", event.MessageDelta{ID: "m", Text: "t"}, `{"callback":"onMessage","messageId":"m","delta":"t"}`},
		{"a message without text keeps its content", event.MessageEnded{ID: "m"}, `{"callback":"onEndMessage","messageId":"m","completeContent":""}`},
		{
			"arguments are indented by two spaces",
			event.ToolStarted{ID: "c", Name: "bash", Arguments: json.RawMessage(`{"command":"ls"}`)},
			`{"callback":"onStartToolExecution","toolCallId":"c","toolName":"bash","toolArguments":"{\n  \"command\": \"ls\"\n}"}`,
		},
		{
			"a call by a sub-agent names its parent, and no arguments are an empty text",
			event.ToolStarted{ID: "c", Parent: "p", Name: "x"},
			`{"callback":"onStartToolExecution","toolCallId":"c","parentToolCallId":"p","toolName":"x","toolArguments":""}`,
		},
		{"a tool writes", event.ToolOutput{ID: "c", Text: "o"}, `{"callback":"onToolExecution","toolCallId":"c","delta":"o"}`},
		{
			"a result without detail has no such key",
			event.ToolEnded{ID: "c", Result: &event.ToolResult{Content: "o"}},
			`{"callback":"onEndToolExecution","toolCallId":"c","result":{"content":"o"}}`,
		},
		{
			"an error without code has no such key",
			event.ToolEnded{ID: "c", Error: &event.ToolError{Text: "no"}},
			`{"callback":"onEndToolExecution","toolCallId":"c","error":{"message":"no"}}`,
		},
		{"a turn begins", event.TurnStarted{ID: "0"}, `{"callback":"onAgentStart","turnId":"0"}`},
		{"a turn ends", event.TurnEnded{ID: "0"}, `{"callback":"onAgentEnd","turnId":"0"}`},
		{"a run is complete", event.RunEnded{Outcome: event.Completed}, `{"callback":"onIdle"}`},
		{"a failed run ends the same way", event.RunEnded{Outcome: event.Failed, Text: "x"}, `{"callback":"onIdle"}`},
		{"a failure", event.SessionError{Text: "broken"}, `{"sessionError":"broken"}`},
		{"a failure with what to do about it", event.SessionError{Text: "broken", Hint: "Mend `it`."}, `{"sessionError":"broken\nMend ` + "`it`" + `."}`},
		{
			"a permission",
			event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskPermission, Names: []string{"exec.run"}, Title: "T", Detail: "ls"}},
			`{"callback":"onPermissionRequest","requestId":"q","name":"exec.run","title":"T","detail":"ls"}`,
		},
		{
			"a permission for several things",
			event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskPermission, Names: []string{"git.commit", "exec.run"}, Title: "T", Detail: "d"}},
			`{"callback":"onPermissionRequest","requestId":"q","name":"git.commit","title":"T","detail":"d","names":["git.commit","exec.run"]}`,
		},
		{
			"a question with choices",
			event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskInput, Text: "?", Choices: []string{"a"}}},
			`{"callback":"onUserInputRequest","requestId":"q","question":"?","choices":["a"],"freeform":false}`,
		},
		{
			"a question without choices",
			event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskInput, Text: "?", Freeform: true}},
			`{"callback":"onUserInputRequest","requestId":"q","question":"?","freeform":true}`,
		},
		{
			"a plan is a permission with choices",
			event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskPlan, Title: "T", Text: "# T", Choices: []string{"interactive"}}},
			`{"callback":"onPermissionRequest","requestId":"q","name":"plan","title":"T","detail":"# T","choices":["interactive"]}`,
		},
		{
			"a plan without title and choices has both keys",
			event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskPlan, Text: "do"}},
			`{"callback":"onPermissionRequest","requestId":"q","name":"plan","title":"The plan","detail":"do","choices":[]}`,
		},
		{
			"a sign-in is a permission with a URL",
			event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskSignIn, Source: "desk", Text: "Sign in", URL: "https://example.com/"}},
			`{"callback":"onPermissionRequest","requestId":"q","name":"sign-in","title":"desk asks you to visit a page","detail":"Sign in\nhttps://example.com/","url":"https://example.com/"}`,
		},
		{
			"a form",
			event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskForm, Source: "desk", Text: "Who?", Form: &event.Form{Fields: []event.Field{
				{Name: "n", Title: "Name", Type: event.FieldText, Required: true},
			}}}},
			`{"callback":"onFormRequest","requestId":"q","source":"desk","message":"Who?","fields":[{"name":"n","title":"Name","type":"string","required":true}]}`,
		},
		{
			"a form without fields, of the agent itself",
			event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskForm, Text: "Sure?"}},
			`{"callback":"onFormRequest","requestId":"q","message":"Sure?","fields":[]}`,
		},
		{"an answer", event.QuestionClosed{ID: "q", By: "rest", Ending: event.Answered}, `{"callback":"onQuestionAnswered","requestId":"q","by":"rest"}`},
		{"a withdrawn question", event.QuestionClosed{ID: "q", Ending: event.Withdrawn}, `{"callback":"onQuestionAnswered","requestId":"q","by":"cancelled"}`},
		{"a question that nobody answered in time", event.QuestionClosed{ID: "q", Ending: event.Expired}, `{"callback":"onQuestionAnswered","requestId":"q","by":"expired"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			response, ok := rest.Callback(c.body)
			require.True(t, ok)
			got, err := json.Marshal(response)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(got)) // compares the order of the keys, too
		})
	}
}

func TestOtherEventsHaveNoCallback(t *testing.T) {
	for _, body := range []event.Body{
		event.SessionOpened{},
		event.SessionClosed{},
		event.RunStarted{},
		event.UserMessage{},
		event.ModelChanged{},
		event.TitleChanged{},
		event.UsageChanged{},
		event.ModelCalled{},
		event.PlanChanged{},
		event.CompactionStarted{},
		event.CompactionEnded{},
		event.SubagentStarted{},
		event.SubagentEnded{},
		event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskTool, Tool: "t"}},
		event.QuestionClosed{ID: "q", Kind: event.AskTool, Ending: event.Answered},
		event.Notice{},
		event.Idle{},
	} {
		_, ok := rest.Callback(body)
		assert.False(t, ok, "%T", body)
	}
}

func TestAnswersAreDecoded(t *testing.T) {
	for body, want := range map[string]event.Answer{
		`{"approved":true,"scope":"program"}`:                           {Approved: true, Scope: permission.ScopeProgram},
		`{"approved":true,"remember":true}`:                             {Approved: true, Remember: true},
		`{"approved":false,"reason":"no"}`:                              {Reason: "no"},
		`{"answer":"x"}`:                                                {Text: "x"},
		`{"approved":true,"answer":"interactive"}`:                      {Approved: true, Text: "interactive"},
		`{"approved":true,"fields":{"n":"x","a":1,"b":true,"l":["y"]}}`: {Approved: true, Fields: map[string]any{"n": "x", "a": 1.0, "b": true, "l": []string{"y"}}},
		`{"approved":true,"fields":{}}`:                                 {Approved: true, Fields: map[string]any{}},
		`{"approved":true,"fields":null}`:                               {Approved: true},
		`{"failed":true,"reason":"broken"}`:                             {Failed: true, Reason: "broken"},
	} {
		got, err := rest.DecodeAnswer([]byte(body))
		require.NoError(t, err, body)
		assert.Equal(t, want, got, body)
	}
}

func TestContradictoryAnswersAreRejected(t *testing.T) {
	for body, want := range map[string]string{
		``:                                      "not a JSON object",
		`[]`:                                    "not a JSON object",
		`{"approved":true} {}`:                  "not a JSON object",
		`{"approved":"yes"}`:                    "not a JSON object",
		`{"approved":true,"fields":[]}`:         "not a JSON object",
		`{}`:                                    "is missing",
		`null`:                                  "is missing",
		`{"failed":false}`:                      "is missing",
		`{"answer":""}`:                         "empty",
		`{"approved":true,"answer":""}`:         "empty",
		`{"approved":false,"answer":"x"}`:       `"answer" goes with`,
		`{"fields":{"n":"x"}}`:                  `"fields" go with`,
		`{"approved":false,"fields":{}}`:        `"fields" go with`,
		`{"failed":true,"answer":"x"}`:          `"failed" goes with`,
		`{"failed":true,"approved":false}`:      `"failed" goes with`,
		`{"approved":true,"fields":{"n":null}}`: `field "n": null`,
		`{"approved":true,"fields":{"n":[1]}}`:  `field "n": the list`,
		`{"approved":true,"fields":{"n":{}}}`:   `field "n": use a string`,
	} {
		answer, err := rest.DecodeAnswer([]byte(body))
		require.ErrorContains(t, err, want, body)
		assert.Zero(t, answer)
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	for _, seed := range []string{`{"approved":true}`, `{"answer":"x"}`, `{}`, `null`, `[1]`, `{"approved":"yes"}`, `{"approved":false,"reason":"\u0000"}`, ``, `{"answer":null}`, `{"approved":true,"fields":{"a":["b"],"c":1}}`, `{"failed":true}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		answer, err := rest.DecodeAnswer(b)
		if err != nil {
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
			assert.Zero(t, answer)
		}
	})
}
