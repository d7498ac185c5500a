package book_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/book"
)

// load loads a book that must have no faults.
func load(t *testing.T, text string) *book.Book {
	t.Helper()
	b, err := book.Load("jobs.yaml", []byte(text))
	require.NoError(t, err)
	return b
}

// withJob returns a book with tasks a to f, of which c can fail, and a job "j" with a work in YAML's flow style.
func withJob(work string) string {
	return `
models: {driving: m}
tasks:
  a: {prompt: [do a]}
  b: {prompt: [do b]}
  c: {prompt: [do c], criteria: {toolExecuted: [job_boolean_true], failureAction: {retryTimes: 0}}}
  d: {prompt: [do d]}
  e: {prompt: [do e]}
  f: {prompt: [do f]}
jobs:
  j: {work: ` + work + `}
`
}

func ref(task string) string { return "{kind: Ref, taskId: " + task + "}" }

// outline describes a work in a line, with ids before kinds.
func outline(w *book.Work) string {
	head := fmt.Sprintf("%d %s", w.ID, w.Kind)
	if w.Kind == book.Ref {
		return fmt.Sprintf("%d %s", w.ID, w.Task)
	}
	var parts []string
	for _, part := range w.Parts() {
		parts = append(parts, outline(part))
	}
	return head + "(" + strings.Join(parts, ", ") + ")"
}
