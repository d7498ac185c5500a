package book_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/copilot-portal/portal/jobs/book"
)

const whole = `
models: {driving: small, coding: large}
drivingSessionRetries:
  - {modelId: small, retries: 2}
  - {modelId: "", retries: 0}
promptVariables:
  who: [You are, $role.]
  role: [a tester]
tasks:
  plain: {prompt: [Say hello.]}
  full:
    model: {category: coding}
    prompt: [$who, "", $user-input]
    requireUserInput: true
    availability: {condition: ["Is it there?"]}
    criteria:
      toolExecuted: [job_prepare_document, job_boolean_true]
      condition: ["Is it good?"]
      runConditionInSameSession: false
      failureAction: {retryTimes: 3, additionalPrompt: [Once more.]}
  short:
    model: {id: exact}
    prompt: [Do it.]
    criteria: {condition: ["Done?"], failureAction: {retryTimes: 0}}
jobs:
  one: {work: {kind: Ref, taskId: plain, modelOverride: {id: other}}}
  two:
    work:
      kind: Loop
      preCondition: [true, {kind: Ref, taskId: short}]
      body: {kind: Ref, taskId: full}
      postCondition: [false, {kind: Ref, taskId: short}]
      maxIterations: 3
grid:
  - {keyword: first, jobs: [{name: One, jobName: one}, null, {name: Two, jobName: two}]}
  - {keyword: empty, jobs: []}
`

func TestBookIsLoaded(t *testing.T) {
	b := load(t, whole)
	assert.Equal(t, book.Models{
		ByCategory: map[string]string{"driving": "small", "coding": "large"},
		Retries:    []book.Retry{{ModelID: "small", Retries: 2}, {ModelID: "", Retries: 0}},
	}, b.Models)
	assert.Equal(t, map[string][]string{"who": {"You are", "$role."}, "role": {"a tester"}}, b.Variables)
	assert.Equal(t, map[string]book.Task{
		"plain": {Prompt: []string{"Say hello."}},
		"full": {
			Model: book.ModelRef{Category: "coding"}, Prompt: []string{"$who", "", "$user-input"}, RequireUserInput: true,
			Availability: &book.Availability{Condition: []string{"Is it there?"}},
			Criteria: &book.Criteria{
				ToolExecuted: []string{book.PrepareDocument, book.BooleanTrue}, Condition: []string{"Is it good?"},
				FailureAction: book.FailureAction{RetryTimes: 3, AdditionalPrompt: []string{"Once more."}},
			},
		},
		"short": {
			Model: book.ModelRef{ID: "exact"}, Prompt: []string{"Do it."},
			Criteria: &book.Criteria{Condition: []string{"Done?"}, RunConditionInSameSession: true},
		},
	}, b.Tasks)
	assert.Equal(t, book.Job{Work: &book.Work{
		Kind: book.Ref, ID: 1, Task: "plain", ModelOverride: book.ModelRef{ID: "other"},
	}}, b.Jobs["one"])
	assert.Equal(t, book.Job{RequireUserInput: true, Work: &book.Work{
		Kind: book.Loop, ID: 1, PreWanted: true, PostWanted: false, MaxIterations: 3,
		Pre:  &book.Work{Kind: book.Ref, ID: 2, Task: "short"},
		Post: &book.Work{Kind: book.Ref, ID: 3, Task: "short"},
		Body: &book.Work{Kind: book.Ref, ID: 4, Task: "full"},
	}}, b.Jobs["two"])
	assert.Equal(t, []book.Row{
		{Keyword: "first", Jobs: []*book.Button{{Name: "One", JobName: "one"}, nil, {Name: "Two", JobName: "two"}}},
		{Keyword: "empty", Jobs: []*book.Button{}},
	}, b.Grid)
}

func TestBooksInJSONAndYAMLAreEqual(t *testing.T) {
	var tree any
	require.NoError(t, yaml.Unmarshal([]byte(whole), &tree))
	data, err := json.MarshalIndent(tree, "", "\t")
	require.NoError(t, err)
	for _, name := range []string{"jobs.json", "jobs.yaml", "no-ending"} {
		b, err := book.Load(name, data)
		require.NoError(t, err, "by name %s", name)
		assert.Equal(t, book.Source{Name: name, Text: data}, b.Source())
		want := load(t, whole)
		assert.Equal(t, []any{want.Models, want.Variables, want.Tasks, want.Jobs, want.Grid}, []any{b.Models, b.Variables, b.Tasks, b.Jobs, b.Grid})
	}
}

func TestJSONIsNotReadAsYAML(t *testing.T) {
	b, err := book.Load("jobs.json", []byte("\uFEFF{\t\"models\":\t{\"driving\":\"m\"},\n\t\"tasks\":{\"t\":{\"prompt\":[\"\\ud83d\\ude00\"]}}}"))
	require.NoError(t, err)
	assert.Equal(t, []string{"😀"}, b.Tasks["t"].Prompt)
}

func TestOmittedKeysHaveDefaults(t *testing.T) {
	b := load(t, withJob("{kind: Loop, body: "+ref("a")+"}"))
	assert.Equal(t, []book.Retry{{ModelID: "m", Retries: 4}}, b.Models.Retries)
	assert.Equal(t, 10, b.Jobs["j"].Work.MaxIterations)
	assert.True(t, b.Tasks["c"].Criteria.RunConditionInSameSession)
	assert.False(t, b.Jobs["j"].RequireUserInput)
}

func TestDefaultGridHasButtonForEachJob(t *testing.T) {
	const two = `
models: {driving: ""}
tasks: {t: {prompt: [hello]}}
jobs:
  nightly: {work: {kind: Ref, taskId: t}}
  changelog: {work: {kind: Ref, taskId: t}}
`
	want := []book.Row{{Keyword: "jobs", Jobs: []*book.Button{{Name: "nightly", JobName: "nightly"}, {Name: "changelog", JobName: "changelog"}}}}
	for _, grid := range []string{"", "grid: []"} {
		assert.Equal(t, want, load(t, two+grid).Grid, "%q", grid)
	}
	assert.Len(t, load(t, two+"grid: [{keyword: x, jobs: [{name: N, jobName: nightly}]}]").Grid, 1, "a grid may omit jobs")
	b := load(t, "models: {driving: \"\"}\ntasks: {t: {prompt: [hello]}}\n")
	assert.Equal(t, []book.Row{}, b.Grid, "no job, no row")
}

func TestAliasesAreSupported(t *testing.T) {
	b := load(t, `
models: {driving: ""}
tasks:
  a: &a {prompt: [hello, 2026-01-01]}
  b: *a
`)
	assert.Equal(t, b.Tasks["a"], b.Tasks["b"])
	assert.Equal(t, []string{"hello", "2026-01-01"}, b.Tasks["a"].Prompt, "a date is text")
}

func TestModelOfTask(t *testing.T) {
	b := load(t, `{models: {driving: small, coding: large, default: ""}, tasks: {t: {prompt: [x]}}}`)
	category := func(name string) book.ModelRef { return book.ModelRef{Category: name} }
	id := func(id string) book.ModelRef { return book.ModelRef{ID: id} }
	for _, c := range []struct {
		name          string
		ref, override book.ModelRef
		want          string
	}{
		{"without a reference, the driving model", book.ModelRef{}, book.ModelRef{}, "small"},
		{"by category", category("coding"), book.ModelRef{}, "large"},
		{"by id", id("exact"), book.ModelRef{}, "exact"},
		{"a category with the portal's default", category("default"), book.ModelRef{}, ""},
		{"the override wins", category("coding"), id("other"), "other"},
		{"the override wins by category", id("exact"), category("coding"), "large"},
		{"the override wins with the portal's default", id("exact"), category("default"), ""},
		{"an override without a reference", book.ModelRef{}, category("coding"), "large"},
	} {
		assert.Equal(t, c.want, b.Model(c.ref, c.override), c.name)
	}
}

func TestBookOfRepositoryIsFound(t *testing.T) {
	root := t.TempDir()
	at := filepath.Join(root, ".portal", "jobs.yaml")
	path, ok := book.Find(root)
	assert.False(t, ok)
	assert.Equal(t, at, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
	require.NoError(t, os.WriteFile(at, []byte("x"), 0o600))
	path, ok = book.Find(root)
	assert.True(t, ok)
	assert.Equal(t, at, path)
}

func TestDocumentedExampleIsValid(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "spec", "jobs.md"))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "```yaml\n")
	example, _, closed := strings.Cut(after, "```\n")
	require.True(t, found && closed)
	b := load(t, example)
	assert.Equal(t, "Write about this into notes.md.\ntea\nChange nothing but notes.md.\nCommit nothing.",
		b.Expand(b.Tasks["write"].Prompt, map[string]string{book.UserInput: "tea"}))
	assert.True(t, b.Jobs["notes"].RequireUserInput)
}

func TestDerivedKeysAreAccepted(t *testing.T) {
	for text, fault := range map[string]string{
		"{work: {kind: Seq, workIdInJob: 1, works: [{kind: Ref, taskId: a, workIdInJob: 2}, {kind: Ref, taskId: b, workIdInJob: 3}]}, requireUserInput: false}": "",
		"{work: {kind: Ref, taskId: a, workIdInJob: 1}}":                                             "",
		"{work: {kind: Ref, taskId: u, workIdInJob: 1}, requireUserInput: true}":                     "",
		"{work: {kind: Ref, taskId: a, workIdInJob: 2}}":                                             "jobs.j.work.workIdInJob: is 2, but the id of this work is 1; it can be omitted",
		"{work: {kind: Seq, works: [{kind: Ref, taskId: a, workIdInJob: 3}]}}":                       "jobs.j.work.works[0].workIdInJob: is 3, but the id of this work is 2; it can be omitted",
		"{work: {kind: Seq, works: [{kind: Seq, workIdInJob: 2, works: [{kind: Ref, taskId: a}]}]}}": "jobs.j.work.works[0].workIdInJob: must be omitted: this work is replaced by the works in it",
		"{work: {kind: Ref, taskId: a, workIdInJob: x}}":                                             "jobs.j.work.workIdInJob: must be a number",
		"{work: {kind: Ref, taskId: a, workIdInJob: 0}}":                                             "jobs.j.work.workIdInJob: must be a whole number from 1",
		"{work: {kind: Ref, taskId: a}, requireUserInput: true}":                                     "jobs.j.requireUserInput: is true, but must be false, which follows from the tasks of the job; it can be omitted",
		"{work: {kind: Ref, taskId: u}, requireUserInput: false}":                                    "jobs.j.requireUserInput: is false, but must be true, which follows from the tasks of the job; it can be omitted",
		"{work: {kind: Ref, taskId: u}, requireUserInput: 1}":                                        "jobs.j.requireUserInput: must be true or false",
	} {
		_, err := book.Load("jobs.yaml", []byte("models: {driving: m}\ntasks: {a: {prompt: [a]}, b: {prompt: [b]}, u: {prompt: [u], requireUserInput: true}}\njobs: {j: "+text+"}\n"))
		if fault == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, fault, text)
	}
}

// An encoded job can be pasted into a book.
func TestEncodedJobLoadsAgain(t *testing.T) {
	b := load(t, withJob("{kind: Loop, body: {kind: Seq, works: ["+ref("a")+", {kind: Alt, condition: "+ref("c")+", trueWork: "+ref("b")+"}]}, postCondition: [false, "+ref("c")+"]}"))
	encoded, err := json.Marshal(b.Jobs)
	require.NoError(t, err)
	text := strings.SplitAfter(withJob(ref("a")), "jobs:")[0] + " " + string(encoded) + "\n"
	again := load(t, text)
	require.Equal(t, b.Jobs, again.Jobs)
}
