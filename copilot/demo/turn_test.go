package demo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// play answers each tool call of a script with the next result, and returns all replies.
func play(t *testing.T, b body, results ...string) []reply {
	t.Helper()
	var replies []reply
	messages, ok := b["messages"].([]message)
	require.True(t, ok)
	for _, result := range results {
		r := ask(t, b.with("messages", messages))
		require.Equal(t, "tool_calls", r.finish, r.content)
		require.True(t, r.done)
		replies = append(replies, r)
		messages = append(messages, called(r.call, result)...)
	}
	return append(replies, ask(t, b.with("messages", messages)))
}

func TestToolCallsReportTheirResults(t *testing.T) {
	for _, tt := range []struct {
		name, prompt, tool, args, result, report string
	}{
		{
			"run quotes the output", "run `date`", "bash", `{"command":"date","description":"Run date","initial_wait":600}`,
			"Monday\n", "```\nMonday\n```",
		},
		{
			"write quotes the tool", "write `a` `x`", "create", `{"path":"/project/a","file_text":"x"}`,
			"no ``` here", "````\nno ``` here\n````",
		},
		{
			"edit keeps the other lines", "edit `a` `x` `y`", "edit", `{"path":"/project/a","old_str":"x","new_str":"y"}`,
			"ok", "```\nok\n```",
		},
		{
			"read quotes the first lines", "read `a`", "view", `{"path":"/project/a"}`,
			strings.Repeat("l\n", 15), "```\n" + strings.Repeat("l\n", 12) + "… and 3 more lines\n```",
		},
		{
			"ask repeats the answer", "ask `Q?` choices `a` `b`", "ask_user", `{"question":"Q?","choices":["a","b"]}`,
			"User selected: b", "```\nUser selected: b\n```",
		},
		{"call quotes the result", "call `view` `{\"path\":1}`", "view", `{"path":1}`, "", "```\n\n```"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			replies := play(t, request(user(tt.prompt)), tt.result)

			assert.Equal(t, tt.tool, replies[0].call.Function.Name)
			assert.JSONEq(t, tt.args, replies[0].call.Function.Arguments)
			assert.Equal(t, "The script is done.\n\n"+tt.report, replies[1].content)
			assert.Equal(t, "stop", replies[1].finish)
		})
	}
}

func TestStepsAroundCallsAreStreamedOnce(t *testing.T) {
	replies := play(t, request(user("old"), assistant("x"), user("say `a` run `1` think say `b` read `2` say `c`")), "r1", "r2")

	require.Len(t, replies, 3)
	assert.Equal(t, "a", replies[0].content)
	assert.Equal(t, "bash", replies[0].call.Function.Name)
	assert.Equal(t, "b", replies[1].content)
	assert.NotEmpty(t, replies[1].reasoning)
	assert.Equal(t, "view", replies[1].call.Function.Name)
	assert.Equal(t, "c", replies[2].content, "a script with a text of its own has no report")
	assert.NotEqual(t, replies[0].call.ID, replies[1].call.ID)
}

func TestPlanIsWorkedOn(t *testing.T) {
	replies := play(t, request(user("plan `A` `B`")), "2 inserted", "1", "1", "1", "1 row(s) updated.")

	require.Len(t, replies, 6)
	var queries []string
	for _, r := range replies[:5] {
		queries = append(queries, r.call.Function.Arguments)
	}
	all := strings.Join(queries, "\n")
	for _, part := range []string{"('step-2', 'B'", "'in_progress' WHERE id = 'step-1'", "'done' WHERE id = 'step-2'"} {
		assert.Contains(t, all, part)
	}
	assert.Equal(t, "The script is done.", replies[5].content)
}

func TestQuestionsOutsideOfTheConversationAreAnsweredByTheFirstPrompt(t *testing.T) {
	for question, word := range map[string]string{"Reply with a title for this conversation": "title", "Reply with a message for a git commit": "message"} {
		for prompt, want := range map[string]string{word + " `Herons` and say `x`": "Herons", "say `x`": ""} {
			b := request(user(prompt), assistant("x"), user(question+" and nothing else.")).with("tools", nil)
			assert.Equal(t, want, ask(t, b).content, prompt)
		}
	}
}

func TestLongArgumentComesInPieces(t *testing.T) {
	text := strings.Repeat("ä", 3000)
	r := ask(t, request(user("write `a` `"+text+"`")))

	assert.Greater(t, len(r.chunks), 6)
	assert.JSONEq(t, `{"path":"/project/a","file_text":"`+text+`"}`, r.call.Function.Arguments)
}

func TestOnlyOfferedToolsAreCalled(t *testing.T) {
	b := request(user("ask `Q?` run `ls`")).with("tools", offers("powershell"))
	replies := play(t, b, "out")

	assert.Equal(t, "I was not offered the tool `ask_user`, only: powershell. ", replies[0].content)
	assert.Equal(t, "powershell", replies[0].call.Function.Name)
	assert.Contains(t, replies[1].content, "```\nout\n```")

	r := ask(t, request(user("ask `Q?`")).with("tools", nil))
	assert.Equal(t, "I was not offered the tool `ask_user`, only: . ", r.content)
}

func TestFilesStayRelativeWithoutWorkingDirectory(t *testing.T) {
	b := body{"messages": []message{user("read `a/../b`")}, "tools": offers("view"), "stream": true}

	assert.JSONEq(t, `{"path":"b"}`, ask(t, b).call.Function.Arguments)
}

func TestCLIMayAddMessagesToTurn(t *testing.T) {
	first := ask(t, request(user("run `1` run `2` say `end`"))).call
	news := message{"role": "user", "content": "<system_notification>\nDone. run `x`\n</system_notification>"}
	foreign := toolCall{ID: "4c38523a"}
	messages := append([]message{user("run `1` run `2` say `end`")}, called(first, []message{{"type": "text", "text": "a"}})...)
	messages = append(append(messages, news), called(foreign, "b")...)

	r := ask(t, request(messages...))
	assert.Contains(t, r.call.Function.Arguments, `"command":"2"`)

	r = ask(t, request(append(append(messages, called(r.call, "c")...), assistant("end"), news)...))
	assert.Equal(t, "Noted.", r.content)
}

func TestNewPromptReplacesAScript(t *testing.T) {
	first := ask(t, request(user("run `1` run `2`"))).call
	messages := append([]message{user("run `1` run `2`")}, called(first, "moved to the background")...)

	r := ask(t, request(append(messages, message{"role": "user", "content": "recall"})...))
	assert.Equal(t, "The earlier prompts of this conversation:\n\n1. run `1` run `2`\n", r.content)
}

func TestConversationIsSummarized(t *testing.T) {
	ordered := user("Please create a detailed summary of the conversation so far. Think, do not fail, do not break.")
	r := ask(t, request(user("run `1`"), assistant("x"), ordered).with("tool_choice", "none"))

	assert.Contains(t, r.content, "<overview>\nThe earlier prompts of this conversation:\n\n1. run `1`\n</overview>")
	assert.Contains(t, r.content, "<checkpoint_title>")
}

func TestCompactedPromptsAreNotRepeated(t *testing.T) {
	past := message{"role": "user", "content": "Some of the conversation history has been summarized to free up context.\n\n" +
		"<user_message>\nrun `1`\n</user_message>\n<user_message>\nfail\n</user_message>\n<user_message>"}

	const ended = "The conversation was summarized before the script was done. It ends here."
	assert.Equal(t, ended, ask(t, request(past)).content)
	assert.Equal(t, ended, ask(t, request(append([]message{past}, called(toolCall{ID: "demo_1"}, "x")...)...)).content)
	r := ask(t, request(past, user("recall")))
	assert.Equal(t, "The earlier prompts of this conversation:\n\n1. run `1`\n2. fail\n", r.content)
}

func TestForbiddenToolsAreNotCalled(t *testing.T) {
	r := ask(t, request(user("run `ls`")).with("tool_choice", "none"))

	assert.Equal(t, "stop", r.finish)
	assert.Contains(t, r.content, "I was not offered the tool `bash`")
}
