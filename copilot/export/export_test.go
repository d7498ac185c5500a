package export_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/export"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var begin = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

var info = copilot.Info{
	ID: "1b4e28ba-2fa1-11d2-883f-0016d3cca427", Origin: "rest", Title: "Count *all* files", Model: "gpt-5",
	Directory: "/project", State: copilot.StateIdle, Created: begin, Usage: copilot.Usage{Used: 1200, Limit: 64000, Multiplier: 1, Calls: 2, Input: 1100, Output: 100},
}

type said struct {
	agent string
	body  event.Body
}

// record returns a record in which later entries stand for earlier ones, as in a session's. Each event is one second
// later.
func record(tb testing.TB, budget int, events ...said) *event.Record {
	tb.Helper()
	r := journal.New(journal.Options[event.Event]{Budget: budget, Group: func(e event.Event) (string, bool) {
		switch b := e.Body.(type) {
		case event.MessageDelta:
			return "m" + b.ID, false
		case event.MessageEnded:
			return "m" + b.ID, true
		case event.ToolOutput:
			return "t" + b.ID, false
		case event.ToolEnded:
			return "t" + b.ID, true
		}
		return "", false
	}})
	for i, s := range events {
		_, err := r.Append(event.Event{Time: begin.Add(time.Duration(i) * time.Second), Run: "r1", Agent: s.agent, Body: s.body})
		require.NoError(tb, err)
	}
	return r
}

func main(bodies ...event.Body) (events []said) {
	for _, b := range bodies {
		events = append(events, said{body: b})
	}
	return events
}

// story returns events of every kind.
func story() []said {
	bound := 1.0
	events := main(
		event.SessionOpened{Model: "gpt-5", Directory: "/project"},
		event.RunStarted{},
		event.UserMessage{Prompt: event.Prompt{
			Text: "How many files\nare here?", Mode: event.ModePlan,
			Attachments: []event.Attachment{
				{Path: "/project/a`b.go", First: 3, Last: 5, Text: "func a() {\n```\n}"},
				{Name: "Screen", Data: []byte("png"), Type: "image/png"},
			},
		}},
		event.TurnStarted{ID: "1"},
		event.ReasoningStarted{ID: "t"},
		event.ReasoningDelta{ID: "t", Text: "I should "},
		event.ReasoningEnded{ID: "t", Text: "I should count.\n\n</details> is no end."},
		event.MessageDelta{ID: "m0", Text: "I look"},
		event.MessageEnded{ID: "m0", Text: "I look."},
		event.ToolStarted{ID: "c1", Name: "bash", Arguments: json.RawMessage(`{"command":"ls | wc -l","n":1.50}`)},
		event.ToolStarted{ID: "c2", Name: "view"},
		event.QuestionAsked{Question: event.Question{ID: "q1", Kind: event.AskPermission, Names: []string{"ls", "wc"}, Title: "Run a command", Detail: "ls | wc -l"}},
		event.QuestionClosed{ID: "q1", Kind: event.AskPermission, By: "rest", Ending: event.Answered, Answer: event.Answer{Approved: true, Remember: true}},
		event.ToolOutput{ID: "c1", Text: "3\n"},
		event.ToolEnded{ID: "c2", Error: &event.ToolError{Text: "no such file", Code: "ENOENT"}},
		event.ToolEnded{ID: "c1", Result: &event.ToolResult{Content: "x", Detail: "\x1b[31m3\x1b[0m\r\n```\n# not a title\n````\n"}},
		event.SubagentStarted{ID: "a1", Call: "c3", Name: "explore", Title: "Look <around>"},
	)
	events = append(events, said{"a1", event.ReasoningEnded{ID: "t1", Text: "hm"}}, said{"a1", event.MessageEnded{ID: "m1", Text: "Found it."}})
	return append(events, main(
		event.SubagentEnded{ID: "a1", Outcome: event.Failed, Error: "it got lost"},
		event.PlanChanged{Text: "1. Count", Todos: []event.Todo{{Title: "Count", State: event.TodoCompleted}, {Title: "Tell", Detail: "the user", State: event.TodoPending}}},
		event.QuestionAsked{Question: event.Question{ID: "q2", Kind: event.AskForm, Source: "shop", Text: "Who are you?", Form: &event.Form{Fields: []event.Field{{Name: "age", Title: "Age", Type: event.FieldNumber, Min: &bound}}}}},
		event.QuestionClosed{ID: "q2", Kind: event.AskForm, By: "live", Ending: event.Answered, Answer: event.Answer{Approved: true, Fields: map[string]any{"age": 7.0}}},
		event.QuestionAsked{Question: event.Question{ID: "q3", Kind: event.AskInput, Text: "Which one?", Choices: []string{"this", "that"}}},
		event.QuestionClosed{ID: "q3", Kind: event.AskInput, By: "live", Ending: event.Answered, Answer: event.Answer{Text: "that"}},
		event.QuestionAsked{Question: event.Question{ID: "q4", Kind: event.AskTool, Tool: "editor.open", Arguments: json.RawMessage(`{}`)}},
		event.QuestionClosed{ID: "q4", Kind: event.AskTool, By: "ide", Ending: event.Answered, Answer: event.Answer{Failed: true, Reason: "no editor"}},
		event.QuestionAsked{Question: event.Question{ID: "q5", Kind: event.AskSignIn, URL: "https://example.org/a"}},
		event.QuestionClosed{ID: "q5", Kind: event.AskSignIn, Ending: event.Expired},
		event.ServerChanged{Server: event.Server{Name: "shop", State: event.ServerFailed, Error: "exit 1"}},
		event.FilesRestored{ID: "f1", Kind: event.RestoreRevert, Target: "r1", By: "ui", Paths: []string{"main.go", "a`b\n# c"}, Files: 3},
		event.CompactionStarted{Used: 900},
		event.CompactionEnded{Before: 900, After: 90, Summary: "They counted."},
		event.CompactionEnded{Error: "too little"},
		event.Notice{Kind: "x", Raw: json.RawMessage(`{"a":1}`)},
		event.MessageEnded{ID: "m2", Text: "There are **3** files:\n\n```text\na\n```\n\nand a `<b>`."},
		event.RunEnded{Outcome: event.Completed},
		event.ModelChanged{Model: "gpt-6"},
		event.RunStarted{},
		event.UserMessage{Prompt: event.Prompt{Text: "<!-- and now?", Steer: true}},
		event.MessageDelta{ID: "m3", Text: "Now I "},
		event.ToolOutput{ID: "c9", Text: "half"},
		event.MessageDelta{ID: "m3", Text: "would"},
		event.SessionError{Kind: fault.Unavailable, Text: "the agent died", Hint: "use `portal doctor`"},
		event.RunEnded{Outcome: event.Failed, Text: "the agent died"},
		event.SessionClosed{},
	)...)
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func markdown(tb testing.TB, r *event.Record) string {
	tb.Helper()
	var b strings.Builder
	require.NoError(tb, export.Markdown(&b, info, follow.Snapshot(tb.Context(), r)))
	return b.String()
}

func TestSessionAsMarkdown(t *testing.T) {
	golden(t, "testdata/session.md", markdown(t, record(t, 0, story()...)))
}

func TestSessionAsJSONL(t *testing.T) {
	var b strings.Builder
	events := story()
	require.NoError(t, export.JSONL(&b, info, follow.Snapshot(t.Context(), record(t, 0, events...))))
	golden(t, "testdata/session.jsonl", b.String())
	lines := bufio.NewScanner(strings.NewReader(b.String()))
	require.True(t, lines.Scan())
	var head struct{ Type, ID, Title string }
	require.NoError(t, json.Unmarshal(lines.Bytes(), &head))
	assert.Equal(t, "session", head.Type)
	assert.Equal(t, info.Title, head.Title)
	n := 0
	for ; lines.Scan(); n++ {
		_, err := event.Decode(lines.Bytes())
		require.NoError(t, err)
	}
	assert.Equal(t, len(events)-2, n, "deltas with an end are omitted")
}

func TestEvictedEntriesAreExportedAsGap(t *testing.T) {
	r := record(t, 2, main(event.TurnStarted{}, event.TurnStarted{}, event.MessageEnded{Text: "a"}, event.MessageEnded{Text: "b"})...)
	assert.Contains(t, markdown(t, r), "has a gap")
	var b strings.Builder
	require.NoError(t, export.JSONL(&b, info, follow.Snapshot(t.Context(), r)))
	assert.Contains(t, b.String(), "\n{\"v\":1,\"type\":\"gap\",\"after\":0,\"first\":3}\n{\"v\":1,\"type\":\"message.ended\"")
	assert.Equal(t, 4, strings.Count(b.String(), "\n"))
}

func TestSnapshotEndsWhereTheRecordEnded(t *testing.T) {
	r := record(t, 0, main(event.RunStarted{}, event.RunEnded{})...)
	n := 0
	for b := range follow.Snapshot(t.Context(), r) {
		_, err := r.Append(event.Event{Body: event.Idle{}})
		require.NoError(t, err)
		n += len(b.Entries)
	}
	assert.Equal(t, 2, n)
	for range follow.Snapshot(t.Context(), r) {
		break
	}
	for range follow.Snapshot(t.Context(), record(t, 0)) {
		assert.Fail(t, "the record is empty")
	}
}

// full is a writer that accepts a number of bytes.
type full int

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if *f -= full(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestExportReturnsErrors(t *testing.T) {
	long := event.MessageEnded{Text: strings.Repeat("a", 5000)}
	r := record(t, 0, main(long, long, event.SessionClosed{})...)
	cut := errors.New("cut")
	broken := func(yield func(follow.Batch[follow.Entry], error) bool) {
		_ = yield(follow.Batch[follow.Entry]{}, cut)
	}
	for name, write := range map[string]func(io.Writer, copilot.Info, export.Entries) error{"markdown": export.Markdown, "jsonl": export.JSONL} {
		t.Run(name, func(t *testing.T) {
			for _, room := range []full{0, 4096, 10000} {
				require.ErrorIs(t, write(&room, info, follow.Snapshot(t.Context(), r)), errFull)
			}
			require.ErrorIs(t, write(io.Discard, info, broken), cut)
		})
	}
}

func TestMarkdownIsEscaped(t *testing.T) {
	fence := "```markdown\n"
	tests := []struct {
		name string
		body event.Body
		want string
	}{
		{"a message is Markdown", event.MessageEnded{Text: "# a\n\n- b\n"}, "# a\n\n- b\n\n"},
		{"with code", event.MessageEnded{Text: "~~~go\n<a>\n```\n~~~"}, "~~~go\n<a>\n```\n~~~\n\n"},
		{"an open block becomes code", event.MessageEnded{Text: "~~~\na"}, fence + "~~~\na\n```\n\n"},
		{"a block in a list becomes code", event.MessageEnded{Text: "- a\n  ~~~\n"}, fence + "- a\n  ~~~\n```\n\n"},
		{"HTML becomes code", event.MessageEnded{Text: "a <script>"}, fence + "a <script>\n```\n\n"},
		{"a comment becomes code", event.MessageEnded{Text: "a\n<!-- b"}, fence + "a\n<!-- b\n```\n\n"},
		{"HTML in code is Markdown", event.MessageEnded{Text: "a `<b>` <https://example.org> 1 < 2"}, "a `<b>` <https://example.org> 1 < 2\n\n"},
		{"ambiguous code becomes code", event.MessageEnded{Text: "a `\n` <!-- `"}, fence + "a `\n` <!-- `\n```\n\n"},
		{"a fence is longer than the fences in it", event.ToolEnded{ID: "t", Result: &event.ToolResult{Content: "`````\n"}}, "\n``````text\n`````\n``````\n"},
		{"no result", event.ToolEnded{ID: "t", Result: &event.ToolResult{}}, "Result of `t` · 04:05:06: nothing."},
		{"an empty message is omitted", event.MessageEnded{}, "100 out\n\n"},
		{"no JSON", event.ToolStarted{ID: "t", Name: "``", Arguments: json.RawMessage("{`")}, "### Tool ``` `` ``` · 04:05:06\n\n```json\n{`\n```\n"},
		{"control characters", event.MessageEnded{Text: "a\x00\x1b]0;title\x07b\u009b\x1b(Bc\x7f\u202e\td\re"}, "\n\nabc\td\ne\n"},
		{"an error is one line", event.SessionError{Text: "a\n\n# <b>"}, "a \\# \\<b\\>\n"},
		{"a hint with an open backtick", event.SessionError{Text: "a", Hint: "b `c"}, "a – b \\`c\n"},
		{"an unknown outcome", event.RunEnded{Outcome: "asleep"}, "\n\nasleep · 04:05:06\n"},
		{"a plan that is refused", event.QuestionClosed{ID: "q", Kind: event.AskPlan, Ending: event.Answered, Answer: event.Answer{Reason: "not now"}}, "**Answer to “q”** · 04:05:06: no – not now\n"},
		{"a question that the user declines", event.QuestionClosed{ID: "q", Kind: event.AskInput, Ending: event.Answered, Answer: event.Answer{Reason: "not now"}}, ": declined – not now\n"},
		{"a question that is withdrawn", event.QuestionClosed{ID: "q", Ending: event.Withdrawn}, ": withdrawn\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := markdown(t, record(t, 0, said{body: tt.body}))
			assert.True(t, strings.HasSuffix(got+"\n", tt.want) || strings.Contains(got, tt.want), got)
		})
	}
}

// FuzzMarkdown checks that text after any content is never inside code.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"a", "```", "~~~\n```\n", "````a`", "<!--", "> ```\n", "\r```\r", "`\n```", "\x1b[`", "- ```\n  ~~~", "```\n``` a\n````\n```"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := markdown(t, record(t, 0, main(
			event.UserMessage{Prompt: event.Prompt{Text: s, Attachments: []event.Attachment{{Name: s, Text: s}}}},
			event.ReasoningEnded{ID: "t", Text: s}, event.MessageDelta{ID: "m", Text: s},
			event.ToolStarted{ID: "c", Name: s, Arguments: json.RawMessage(s)},
			event.ToolEnded{ID: "c", Result: &event.ToolResult{Content: s}, Error: &event.ToolError{Text: s, Code: s}},
			event.QuestionAsked{Question: event.Question{ID: "q", Title: s, Text: s, Detail: s, Choices: []string{s}, URL: s}},
			event.QuestionClosed{ID: "q", Answer: event.Answer{Text: s, Reason: s}},
			event.MessageEnded{ID: "m", Text: s},
			event.ModelChanged{Model: "last"},
		)...))
		assert.False(t, strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }))
		fence := ""
		for line := range strings.Lines(got) {
			line = strings.TrimRight(line, " \t\n")
			run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
			if run == "" {
				run = line[:len(line)-len(strings.TrimLeft(line, "~"))]
			}
			switch {
			case fence != "" && run == line && strings.HasPrefix(run, fence):
				fence = ""
			case fence == "" && len(run) >= 3 && (run[0] == '~' || !strings.Contains(line[len(run):], "`")):
				fence = run
			case strings.HasPrefix(line, "*From now on the model is* `last`"):
				require.Empty(t, fence, got)
			}
		}
		require.True(t, bytes.HasSuffix([]byte(got), []byte("`last` · 04:05:14\n\n")), got)
	})
}
