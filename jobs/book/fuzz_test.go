package book_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/book"
)

func FuzzLoad(f *testing.F) {
	f.Add("jobs.yaml", book.BuiltInText())
	f.Add("jobs.yaml", whole)
	f.Add("jobs.json", `{"models": {"driving": "m"}, "tasks": {"t": {"prompt": ["x"]}}}`)
	f.Add("x", withJob("{kind: Alt, condition: {kind: Seq, works: ["+ref("c")+"]}, falseWork: {kind: Loop, body: "+ref("a")+"}}"))
	f.Add("jobs.yaml", "models: &a {driving: *a}\ntasks: {t: {prompt: [$t, !x y, 1, null]}}\ngrid: [null]\n---\n")
	f.Add("jobs.yaml", "promptVariables: {a: [$b], b: [$a $c $user-input]}\njobs: {j: {work: {kind: Par, works: [x]}}}")
	f.Fuzz(func(t *testing.T, name, text string) {
		b, err := book.Load(name, []byte(text))
		if err != nil {
			require.Nil(t, b)
			checkFaults(t, name, text, err)
			return
		}
		for _, task := range b.Tasks {
			for _, prompt := range prompts(task) {
				require.LessOrEqual(t, len(strings.ReplaceAll(b.Expand(prompt, nil), book.Missing, "")), 1<<20)
			}
		}
		for job := range b.Jobs {
			checkChart(t, b, job)
			_, err := json.Marshal(b.Jobs[job])
			require.NoError(t, err)
		}
	})
}

func checkFaults(t *testing.T, name, text string, err error) {
	t.Helper()
	var faults book.Faults
	require.ErrorAs(t, err, &faults)
	require.NotEmpty(t, faults)
	line := 0
	for _, fault := range faults {
		require.Equal(t, name, fault.File)
		require.NotEmpty(t, fault.Path)
		require.NotEmpty(t, fault.Text)
		require.NotContains(t, fault.Path+fault.Text, "\n")
		require.LessOrEqual(t, line, fault.Line)
		line = fault.Line
	}
	require.LessOrEqual(t, line, strings.Count(text, "\n")+strings.Count(text, "\r")+strings.Count(text, "\u2028")+
		strings.Count(text, "\u2029")+strings.Count(text, "\u0085")+1)
}

// FuzzExpand checks that a value is inserted unchanged, wherever it occurs.
func FuzzExpand(f *testing.F) {
	f.Add("Hello $user-input, $who!", "x $who $user-input $")
	f.Add("$", "-input")
	f.Add("$user-input-input$user-input$$user-input", "$user")
	b, err := book.Load("jobs.yaml", []byte("models: {driving: m}\ntasks: {t: {prompt: [x]}}\npromptVariables: {who: [$name, and $user-input], name: [Ada]}"))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, prompt, value string) {
		const mark = "\x00"
		if strings.Contains(prompt, mark) {
			return
		}
		marked := b.Expand([]string{prompt}, map[string]string{book.UserInput: mark})
		got := b.Expand([]string{prompt}, map[string]string{book.UserInput: value})
		require.Equal(t, strings.ReplaceAll(marked, mark, value), got)
	})
}
