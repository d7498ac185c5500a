package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs/operation/report"
)

const (
	questions = `{"questions": [
		{"question": "In User Story 1, when you say 'accessible repositories', do you mean:", "context": "This affects the GitHub API query strategy.",
		 "options": ["Repositories owned by the user", "Repositories the user has contributed to"], "recommended": "Repositories owned by the user"},
		{"question": "Which latency is acceptable?", "context": "It decides on buffering.", "options": []}]}`
	analysis = `{"completeness": 85, "risk": "MEDIUM", "summary": "Two tasks are missing. Add them first.",
		"findings": [{"task": "Tasks 3 and 7", "severity": "warning", "text": "No effort estimate. Recommend T-shirt sizing."},
			{"task": "", "severity": "info", "text": "The order is sound."}],
		"circular": ["T3 → T5 → T3"],
		"missing": [{"title": "Error Handling & Recovery", "reason": "nothing handles time-outs", "after": "Core API"},
			{"title": "Integration Testing Suite", "reason": "nothing shows that\nit works", "after": ""}]}`
	plan = `{"title": "Search", "document": "# Search\n\nFast.\n\n## Steps\n\n` + "```\\n# no heading\\n```" + `\n\n1. Index\n### Detail\n## Risks\nNone."}`
	free = `{"document": "Done."}`
)

func good() map[report.Type]string {
	return map[report.Type]string{report.Clarify: questions, report.Analyze: analysis, report.Plan: plan, report.Free: free}
}

func read(t *testing.T, of report.Type, args string) report.Report {
	t.Helper()
	if of == report.Free {
		return report.Answer("Done.")
	}
	r, err := report.Read(of, json.RawMessage(args))
	require.NoError(t, err)
	return r
}

func TestReportsAreRendered(t *testing.T) {
	for of, args := range good() {
		t.Run(string(of), func(t *testing.T) {
			r := read(t, of, args)
			var rendered strings.Builder
			for _, l := range r.Lines() {
				fmt.Fprintf(&rendered, "[%s, warning: %v]\n%s\n\n", l.Subsection, l.Warning, l.Text)
				assert.Contains(t, report.Sections(of), l.Subsection)
			}
			golden(t, string(of)+".lines.txt", rendered.String()+"[complete]\n"+r.Summary()+"\n")
			golden(t, string(of)+".result.md", r.Document())
		})
	}
}

func TestResultIncludesDocument(t *testing.T) {
	for of, args := range good() {
		r := read(t, of, args)
		var given, result map[string]any
		require.NoError(t, json.Unmarshal([]byte(args), &given))
		require.NoError(t, json.Unmarshal(r.JSON(), &result))
		given["document"] = r.Document()
		assert.Equal(t, given, result, of)
	}
}

func TestEmptyReportIsValid(t *testing.T) {
	r := read(t, report.Clarify, `{"questions": []}`)
	assert.JSONEq(t, `{"questions": [], "document": "# Clarification questions\n\nNone: the specification is clear.\n"}`, string(r.JSON()))
	assert.Len(t, r.Lines(), 1)

	r = read(t, report.Analyze, `{"completeness": 100, "risk": "LOW", "summary": "Sound.", "findings": [], "circular": [], "missing": []}`)
	require.Len(t, r.Lines(), 1)
	assert.Equal(t, "Analysis Results:\n- Completeness Score: 100/100\n- Risk Level: LOW\n- Identified Circular Dependencies: None\n"+
		"- Missing Tasks Detected: None\n\nSound.", r.Lines()[0].Text)
	assert.Contains(t, string(r.JSON()), `"findings":[],"circular":[],"missing":[]`)

	r = report.Answer("")
	assert.JSONEq(t, `{"document": "\n"}`, string(r.JSON()))
	assert.Empty(t, r.Lines())
}

func TestLongPlanTakesFewMessages(t *testing.T) {
	document, err := json.Marshal("# P\n" + strings.Repeat("## S\n\nx\n", 5000))
	require.NoError(t, err)
	r := read(t, report.Plan, `{"title": "P", "document": `+string(document)+`}`)
	assert.Len(t, r.Lines(), 101)
	var lines []string
	for _, l := range r.Lines()[1:] {
		lines = append(lines, l.Text)
	}
	assert.Equal(t, 5000, strings.Count(strings.Join(lines, "\n"), "## S"), "nothing is omitted")
}

// schema compiles the schema of a tool.
func schema(t *testing.T, of report.Type) *jsonschema.Schema {
	t.Helper()
	tool, ok := report.Tool(of)
	require.True(t, ok)
	s, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.Schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("tool.json", s))
	compiled, err := c.Compile("tool.json")
	require.NoError(t, err)
	return compiled
}

func TestAllTypesButFreeHaveTools(t *testing.T) {
	for _, of := range report.Types() {
		tool, ok := report.Tool(of)
		assert.Equal(t, of != report.Free, ok)
		assert.Equal(t, report.ToolName(of), tool.Name)
		if !ok {
			assert.Empty(t, report.Remind(of))
			continue
		}
		assert.NotEmpty(t, tool.Description)
		assert.Contains(t, report.Remind(of), tool.Name)
		var args any
		require.NoError(t, json.Unmarshal([]byte(good()[of]), &args))
		require.NoError(t, schema(t, of).Validate(args))
	}
}

func TestTypesWithoutToolAreRejected(t *testing.T) {
	for _, of := range []report.Type{"other", report.Free} {
		_, err := report.Read(of, json.RawMessage(`{}`))
		require.EqualError(t, err, "operations of this type report nothing")
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
	}
}
