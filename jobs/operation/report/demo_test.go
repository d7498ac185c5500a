package report_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/jobs/operation/report"
)

// A reply is an answer of the demo model.
type reply struct {
	Reasoning string `json:"reasoning_content"`
	Content   string `json:"content"`
	ToolCalls []struct {
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// answer returns the demo model's answer to prompts, the last of which has the tool of a type.
func answer(t *testing.T, of report.Type, prompts ...string) reply {
	t.Helper()
	messages := []map[string]any{}
	for i, p := range prompts {
		if i > 0 {
			messages = append(messages, map[string]any{"role": "assistant", "content": "So it is."})
		}
		messages = append(messages, map[string]any{"role": "user", "content": p})
	}
	tools := []map[string]any{{"type": "function", "function": map[string]any{"name": "bash"}}}
	if tool, ok := report.Tool(of); ok {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": tool.Alias(), "parameters": tool.Schema}})
	}
	body, err := json.Marshal(map[string]any{"messages": messages, "tools": tools})
	require.NoError(t, err)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer key")
	w := httptest.NewRecorder()
	demo.NewHandler("key").ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var got struct{ Choices []struct{ Message reply } }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Len(t, got.Choices, 1)
	return got.Choices[0].Message
}

// reported returns the checked report of the demo model.
func reported(t *testing.T, of report.Type, r reply) report.Report {
	t.Helper()
	require.Len(t, r.ToolCalls, 1, r.Content)
	require.Equal(t, report.ToolName(of), r.ToolCalls[0].Function.Name)
	return read(t, of, r.ToolCalls[0].Function.Arguments)
}

func TestDemoModelReportsOnDocument(t *testing.T) {
	const tasks = "# Tasks\n\n- [ ] T1 Schema (S)\n- [ ] T2 Server, depends on T3\n- [x] T3 Page, depends on T2\n"
	for _, tt := range []struct {
		of                      report.Type
		document, thought, want string
	}{
		{report.Clarify, specification, "Reading the document...\n", "What shows that this is done: \"FR-1: The search must be fast.\""},
		{report.Analyze, tasks, "Reading the document...\n", "WARNING: T1 Schema (S): No effort estimate."},
		{report.Plan, specification, "Reading the document...\n", "1. **FR-1: The search must be fast.**"},
	} {
		of := tt.of
		t.Run(string(of), func(t *testing.T) {
			r := answer(t, of, prompt(t, of, report.Input{Document: tt.document, Name: "a.md", Prompt: "fail, break"}))
			assert.Contains(t, r.Reasoning, tt.thought)
			for _, section := range report.Sections(of)[:2] {
				assert.Contains(t, r.Content, "## "+section+"\n", "progress is below the headings of the prompt file")
			}
			var summary []string
			for _, l := range reported(t, of, r).Lines() {
				summary = append(summary, l.Text)
			}
			assert.Contains(t, strings.Join(summary, "\n"), tt.want)
		})
	}
}

func TestDemoModelReportsAfterReminder(t *testing.T) {
	for _, of := range []report.Type{report.Clarify, report.Analyze, report.Plan} {
		first := prompt(t, of, report.Input{Document: "<!-- demo: forget -->\n" + specification})
		assert.Empty(t, answer(t, of, first).ToolCalls)
		reported(t, of, answer(t, of, first, report.Remind(of)))
	}
}

func TestDemoModelReportsNothingWithoutDocument(t *testing.T) {
	for _, of := range []report.Type{report.Clarify, report.Analyze, report.Plan} {
		lost, _, ok := strings.Cut(prompt(t, of, report.Input{Document: specification}), "=== document ")
		require.True(t, ok)
		for _, p := range []string{lost + "`" + report.ToolName(of) + "`", report.Remind(of)} {
			r := answer(t, of, p)
			assert.Contains(t, r.Content, "I got no document")
			assert.Empty(t, r.ToolCalls)
		}
	}
}

func TestFreePromptButNotItsDocumentScriptsDemoModel(t *testing.T) {
	r := answer(t, report.Free, prompt(t, report.Free, report.Input{Prompt: "Now say `done`", Document: "say `no`, fail", Name: "a.md"}))
	assert.Equal(t, "done", r.Content)
	r = answer(t, report.Free, prompt(t, report.Free, report.Input{Prompt: "Now say `done`", Document: "<!-- demo: say `first ` -->\nfail"}))
	assert.Equal(t, "first done", r.Content)
}

func FuzzDemo(f *testing.F) {
	f.Add(specification)
	f.Add("## Task 1: A\ndepends on Task 2\n## Task 2: B\nrequires 1, T9 and A\n```\n# no\n```\n1. x\n   - y\n")
	f.Add("T" + strings.Repeat("1", 300) + " x\n- " + strings.Repeat("fast ", 20) + "\x00\u2028")
	f.Fuzz(func(t *testing.T, document string) {
		for _, of := range []report.Type{report.Clarify, report.Analyze, report.Plan} {
			text, err := report.Prompt(of, report.Input{Document: document})
			if err != nil || strings.Contains(document, "demo:") {
				return
			}
			if r := answer(t, of, text); !strings.Contains(r.Content, "I got no document") {
				reported(t, of, r)
			}
		}
	})
}
