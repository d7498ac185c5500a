package demo_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/demo"
)

func TestTexts(t *testing.T) {
	for _, tt := range []struct{ name, prompt, want string }{
		{"say streams exactly its text", "say `two  words\n`", "two  words\n"},
		{"steps of text follow one another", "say `a ` say `b`", "a b"},
		{"a script without a text ends with one", "think", "The script is done."},
		{"a first prompt recalls nothing", "recall", "This is the first prompt of the conversation.\n"},
		{"a tool that is not offered is named", "call `a`", "I was not offered the tool `a`, only: bash, create, edit, view, ask_user, sql. "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(t, request(user(tt.prompt)))

			assert.Equal(t, tt.want, r.content)
			assert.Equal(t, "stop", r.finish)
			assert.True(t, r.done)
		})
	}
}

func TestThinkStreamsReasoning(t *testing.T) {
	r := ask(t, request(user("think about the sea, say `x`")))

	assert.True(t, strings.HasPrefix(r.reasoning, "Let me think about the sea. "), r.reasoning)
	assert.Equal(t, "x", r.content)
}

func TestMarkdownShowsItsElements(t *testing.T) {
	r := ask(t, request(user("markdown")))

	for _, element := range []string{"# ", "\n- ", "| --- |", "```go\n", "](https://"} {
		assert.Contains(t, r.content, element)
	}
	assert.Greater(t, len(r.words), 50)
}

func TestUnrecognizedPromptGetsIntroduction(t *testing.T) {
	r := ask(t, request(user("Hello!\nHow are you?")))

	assert.Contains(t, r.content, "> Hello!\n")
	assert.NotContains(t, r.content, "How are you?")
	assert.Contains(t, r.content, "script without intelligence")
	assert.Equal(t, 3, strings.Count(r.content, "\n- "))
}

func TestUnrecognizedPromptInPlanModeProposesPlan(t *testing.T) {
	planning := func(messages ...message) body {
		return request(messages...).with("tools", offers("bash", "exit_plan_mode"))
	}
	for _, prompt := range []string{"Make a plan for tea", "Make this faster"} {
		r := ask(t, planning(user(prompt)))
		assert.Equal(t, "tool_calls", r.finish, prompt)
		assert.Equal(t, "exit_plan_mode", r.call.Function.Name)
		var args struct{ Summary string }
		require.NoError(t, json.Unmarshal([]byte(r.call.Function.Arguments), &args))
		assert.Contains(t, args.Summary, prompt)
	}
	assert.Equal(t, "a", ask(t, planning(user("say `a`"))).content, "a script is still played")
	assert.Contains(t, ask(t, request(user("Make a plan"))).content, "Three things to try", "without plan mode")
}

func TestTurnEndsWithPlanResult(t *testing.T) {
	for name, tc := range map[string]struct {
		tools []string
		want  string
	}{
		"in plan mode":    {[]string{"bash", "exit_plan_mode"}, "Plan approved!"},
		"after plan mode": {[]string{"bash"}, "The script is done."},
	} {
		t.Run(name, func(t *testing.T) {
			asked := []message{user("Make a plan")}
			r := ask(t, request(asked...).with("tools", offers("bash", "exit_plan_mode")))
			r = ask(t, request(append(asked, called(r.call, "Plan approved!")...)...).with("tools", offers(tc.tools...)))
			assert.Equal(t, "stop", r.finish)
			assert.Contains(t, r.content, tc.want)
		})
	}
}

func TestAnswerIsShapedLikeOpenAI(t *testing.T) {
	r := ask(t, request(user("say `a b`")))

	require.Len(t, r.chunks, 4)
	for _, c := range r.chunks {
		assert.Equal(t, "chat.completion.chunk", c.Object)
		assert.Equal(t, demo.ModelID, c.Model)
		assert.Equal(t, r.chunks[0].ID, c.ID)
	}
	assert.Equal(t, "assistant", r.chunks[0].Choices[0].Delta.Role)
	assert.Empty(t, r.chunks[3].Choices)
	assert.NotNil(t, r.chunks[3].Usage)
}

func TestUsageIsSentOnlyOnRequest(t *testing.T) {
	r := ask(t, request(user("say `a`")).with("stream_options", nil))

	assert.Nil(t, r.chunks[len(r.chunks)-1].Usage)
	assert.True(t, r.done)
}

func TestRecallListsTheEarlierPrompts(t *testing.T) {
	r := ask(t, request(user("one"), assistant("1"), user("two\nlines"), assistant("2"), user("recall")))

	assert.Equal(t, "The earlier prompts of this conversation:\n\n1. one\n2. two\n   lines\n", r.content)
}

func TestShowRequestShowsTheRequest(t *testing.T) {
	parts := []message{
		{"type": "text", "text": "show request <now>"},
		{"type": "text", "text": "Attached image, fail"},
		{"type": "image_url", "image_url": message{"url": "data:" + strings.Repeat("ä", 3000)}},
	}
	r := ask(t, request(user("one"), assistant("1"), message{"role": "user", "content": parts}))

	var shown struct {
		Prompt    []message
		Messages  int
		Tools     []string
		Directory string
	}
	require.NoError(t, json.Unmarshal([]byte(r.content), &shown))
	assert.Equal(t, "show request <now>", shown.Prompt[0]["text"])
	assert.Contains(t, r.content, "<now>")
	assert.Len(t, shown.Prompt, 3)
	assert.Equal(t, 4, shown.Messages)
	assert.Equal(t, []string{"bash", "create", "edit", "view", "ask_user", "sql"}, shown.Tools)
	assert.Equal(t, "/project", shown.Directory)
}

func TestFail(t *testing.T) {
	for _, tt := range []struct {
		name, prompt string
		status       int
		kind, retry  string
	}{
		{"a bad request is final", "fail", http.StatusBadRequest, "invalid_request_error", ""},
		{"a rate limit says when to retry", "fail 429", http.StatusTooManyRequests, "rate_limit_error", "1"},
		{"a server error says when to retry", "fail 503", http.StatusServiceUnavailable, "server_error", "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			demo.NewHandler(key).ServeHTTP(w, request(user(tt.prompt)).http(t.Context(), t))

			var d document
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &d))
			assert.Equal(t, tt.status, w.Code)
			assert.Equal(t, tt.kind, d.Error.Type)
			assert.Equal(t, "demo_failure", d.Error.Code)
			assert.Equal(t, tt.retry, w.Header().Get("Retry-After"))
		})
	}
}

func TestFailAfterTextIsEventOfStream(t *testing.T) {
	r := ask(t, request(user("say `a` fail 500")))

	assert.Equal(t, "a", r.content)
	assert.Empty(t, r.finish)
	assert.False(t, r.done)
	assert.Equal(t, "server_error", r.chunks[1].Error.Type)
}

func TestAnswerNeedNotBeStreamed(t *testing.T) {
	w := httptest.NewRecorder()
	b := request(user("think, say `a b`, run `ls`")).with("stream", false)
	demo.NewHandler(key).ServeHTTP(w, b.http(t.Context(), t))

	var d document
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &d))
	require.Len(t, d.Choices, 1)
	m := d.Choices[0].Message
	assert.Equal(t, "chat.completion", d.Object)
	assert.Contains(t, m.Reasoning, "Let me think")
	assert.Equal(t, "a b", m.Content)
	require.Len(t, m.ToolCalls, 1)
	assert.JSONEq(t, `{"command":"ls","description":"Run ls","initial_wait":600}`, m.ToolCalls[0].Function.Arguments)
	assert.Equal(t, "tool_calls", *d.Choices[0].FinishReason)
	assert.NotNil(t, d.Usage)
}

func TestAdditionsOfTheCLIAreIgnored(t *testing.T) {
	for name, content := range map[string]string{
		"the time precedes the prompt":              "<current_datetime>2026</current_datetime>\n\nsay `x`",
		"notices may hold tags and keywords":        "<mode_changed_notice>\n<plan_mode>\ncall `exit` and fail</plan_mode>\n</mode_changed_notice>\n\nsay `x`",
		"attachments precede and follow the prompt": "<ide_selection>recall</ide_selection>\nsay `x`\n<tagged_files>* fail</tagged_files>",
		"additions repeat":                          "<system_reminder>fail</system_reminder>say `x`<system_reminder>break</system_reminder>",
		"an open tag is the user's":                 "what is <system_reminder> for? say `x`",
	} {
		assert.Equal(t, "x", ask(t, request(message{"role": "user", "content": content})).content, name)
	}
}
