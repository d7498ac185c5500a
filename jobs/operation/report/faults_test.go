package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs/operation/report"
)

// change replaces a part of valid arguments.
func change(t *testing.T, args, old, by string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(args, old), old)
	return strings.Replace(args, old, by, 1)
}

func TestEachFaultIsReported(t *testing.T) {
	long := strings.Repeat("ä", 2001)
	for _, tt := range []struct {
		of           report.Type
		old, by      string
		want         string
		schemaAllows bool // JSON Schema cannot express the rule, or not simply
	}{
		{report.Clarify, questions, `{}`, "questions is missing", false},
		{report.Clarify, questions, `[]`, "the argument must be of type object, not array", false},
		{report.Clarify, questions, `null`, "the argument must be of type object, not null", false},
		{report.Clarify, questions, `{"questions": {}}`, "questions must be of type array, not object", false},
		{report.Clarify, questions, `{"questions": ["x"]}`, "questions[0] must be of type object, not string", false},
		{report.Clarify, questions, `{"questions": [` + strings.Repeat(`{"question": "q", "context": "c", "options": []},`, 10) + `{"question": "q", "context": "c", "options": []}]}`, "questions has 11 elements; at most 10 are allowed", false},
		{report.Clarify, `"question": "Which latency is acceptable?", `, ``, "questions[1].question is missing", false},
		{report.Clarify, `"Which latency is acceptable?"`, `7`, "questions[1].question must be of type string, not number", false},
		{report.Clarify, `"Which latency is acceptable?"`, `" \n"`, "questions[1].question is empty", true},
		{report.Clarify, `"It decides on buffering."`, `""`, "questions[1].context is empty", false},
		{report.Clarify, `It decides on buffering.`, long, "questions[1].context has 2001 characters; at most 2000 are allowed", false},
		{report.Clarify, `"options": []`, `"options": [true, "x"]`, "questions[1].options[0] must be of type string, not boolean", false},
		{report.Clarify, `"options": []`, `"options": ["x"]`, "questions[1].options has one element", true},
		{report.Clarify, `"options": []`, `"options": ["x", " x "]`, "questions[1].options[1] is a duplicate", true},
		{report.Clarify, `"options": []`, `"options": ["x", ""]`, "questions[1].options[1] is empty", false},
		{report.Clarify, `"options": []`, `"options": ["1","2","3","4","5","6","7","8","9"]`, "questions[1].options has 9 elements; at most 8", false},
		{report.Clarify, `"recommended": "Repositories owned by the user"`, `"recommended": "A"`, "questions[0].recommended must repeat one of the options word for word", true},
		{report.Clarify, `"recommended": "Repositories owned by the user"`, `"recommended": 0`, "questions[0].recommended must be of type string, not number", false},
		{report.Clarify, `"recommended"`, `"recommend"`, "questions[0].recommend is unknown: leave it out", false},

		{report.Analyze, `"completeness": 85, `, ``, "completeness is missing", false},
		{report.Analyze, `85`, `101`, "completeness must be at most 100", false},
		{report.Analyze, `85`, `-1`, "completeness must be at least 0", false},
		{report.Analyze, `85`, `8.5`, "completeness must be of type integer, not number", false},
		{report.Analyze, `85`, `1e999`, "completeness must be at most 100", false},
		{report.Analyze, `85`, `"85"`, "completeness must be of type integer, not string", false},
		{report.Analyze, `"MEDIUM"`, `"medium"`, "risk must be one of LOW, MEDIUM, HIGH", false},
		{report.Analyze, `"MEDIUM"`, `2`, "risk must be of type string, not number", false},
		{report.Analyze, `"Two tasks are missing. Add them first."`, `""`, "summary is empty", false},
		{report.Analyze, `"warning"`, `"error"`, "findings[0].severity must be one of info, warning", false},
		{report.Analyze, `"task": "", `, ``, "findings[1].task is missing", false},
		{report.Analyze, `"The order is sound."`, `null`, "findings[1].text must be of type string, not null", false},
		{report.Analyze, `["T3 → T5 → T3"]`, `["x", "x"]`, "circular[1] is a duplicate", true},
		{report.Analyze, `["T3 → T5 → T3"]`, `"none"`, "circular must be of type array, not string", false},
		{report.Analyze, `"title": "Error Handling & Recovery"`, `"title": ""`, "missing[0].title is empty", false},
		{report.Analyze, `"nothing handles time-outs"`, `[]`, "missing[0].reason must be of type string, not array", false},
		{report.Analyze, `"after": "Core API"`, `"after": ["Core API"]`, "missing[0].after must be of type string, not array", false},

		{report.Plan, plan, `{"title": "x"}`, "document is missing", false},
		{report.Plan, `"Search"`, `""`, "title is empty", false},
		{report.Plan, `"Search"`, `"a\nb"`, "title must be a single line", true},
		{report.Plan, plan, `{"title": "x", "document": ""}`, "document is empty", false},
		{report.Plan, plan, `{"title": "x", "document": "` + strings.Repeat("x", 1_000_001) + `"}`, "document has 1000001 characters", false},
	} {
		t.Run(tt.want, func(t *testing.T) {
			args := change(t, good()[tt.of], tt.old, tt.by)
			_, err := report.Read(tt.of, json.RawMessage(args))
			require.ErrorContains(t, err, "\n- "+tt.want)
			assert.Equal(t, 1, strings.Count(err.Error(), "\n- "), "each fault is reported once")
			assert.True(t, strings.HasSuffix(err.Error(), "\nCall "+report.ToolName(tt.of)+" again with all of its fields."), err)
			assert.Equal(t, tt.schemaAllows, allowed(t, tt.of, args))
		})
	}
}

// allowed reports whether the schema of the tool allows the arguments.
func allowed(t *testing.T, of report.Type, args string) bool {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return schema(t, of).Validate(v) == nil
}

func TestAllFaultsAreReported(t *testing.T) {
	_, err := report.Read(report.Analyze, json.RawMessage(`{"completeness": 200, "risk": "?", "findings": [{"x": 1}], "circular": [1], "missing": []}`))

	problem := &fault.Error{}
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, fault.Invalid, problem.Kind)
	assert.Equal(t, `The report was rejected because the call of report_analysis is not valid:
- circular[0] must be of type string, not number
- completeness must be at most 100
- findings[0].severity is missing
- findings[0].task is missing
- findings[0].text is missing
- findings[0].x is unknown: leave it out
- risk must be one of LOW, MEDIUM, HIGH
- summary is missing
Call report_analysis again with all of its fields.`, err.Error())
}

func TestNumberMayHaveFractionOfZero(t *testing.T) {
	for _, number := range []string{"85.0", "8.5e1"} {
		r, err := report.Read(report.Analyze, json.RawMessage(change(t, analysis, "85", number)))
		require.NoError(t, err)
		assert.Contains(t, string(r.JSON()), `"completeness":85,`)
	}
}

func TestLastOfEqualNamesCounts(t *testing.T) {
	first := change(t, questions, `{"questions":`, `{"questions": [{"question": "x", "context": "x", "options": ["a", "b"], "recommended": "a"},
		{"question": "x", "context": "x", "options": ["a", "b"], "recommended": "a"}], "questions":`)
	assert.Equal(t, read(t, report.Clarify, questions), read(t, report.Clarify, first))
}

func TestFloodOfFaultsIsCut(t *testing.T) {
	_, err := report.Read(report.Analyze, json.RawMessage(`{"`+strings.Repeat("x", 1000)+`": 1, "findings": [`+strings.Repeat("1,", 99)+`1]}`))
	require.ErrorContains(t, err, "- and 86 more\n")
	assert.Equal(t, 21, strings.Count(err.Error(), "\n- "))
	assert.Less(t, len(err.Error()), 2000)
}

func TestInvalidJSONIsReported(t *testing.T) {
	for _, args := range []string{"", "{", "questions", `{"questions": []} x`, `{"questions": []}{}`, "\xff"} {
		_, err := report.Read(report.Clarify, json.RawMessage(args))
		require.ErrorContains(t, err, "\n- the argument is not a JSON object: ", args)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("clarify", []byte(questions))
	f.Add("analyze", []byte(analysis))
	f.Add("plan", []byte(plan))
	f.Add("clarify", []byte(`{"questions": [{"question": "q", "context": "c", "options": ["a", "b"], "recommended": "b"}]}`))
	f.Add("analyze", []byte(`{"completeness": 1e2}`))
	f.Fuzz(func(t *testing.T, of string, args []byte) {
		r, err := report.Read(report.Type(of), args)
		if err != nil {
			assert.Less(t, len(err.Error()), 10_000)
			assert.Nil(t, r.JSON())
			return
		}
		var result map[string]any
		require.NoError(t, json.Unmarshal(r.JSON(), &result))
		assert.Equal(t, r.Document(), result["document"])
		assert.NotEmpty(t, strings.TrimSpace(r.Document()))
		assert.NotEmpty(t, r.Summary())
		assert.LessOrEqual(t, len(r.Lines()), 300, "an operation has room for 1,000 messages")
		for _, l := range r.Lines() {
			assert.NotEmpty(t, strings.TrimSpace(l.Text))
			assert.Contains(t, report.Sections(report.Type(of)), l.Subsection)
		}
		// A valid result stays valid.
		delete(result, "document")
		if of == "plan" {
			result["document"] = r.Document()
		}
		again, err := json.Marshal(result)
		require.NoError(t, err)
		repeated, err := report.Read(report.Type(of), again)
		require.NoError(t, err)
		assert.Equal(t, r, repeated)
	})
}
