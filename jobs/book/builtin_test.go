package book_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/book"
)

// prompts returns all prompts of a task.
func prompts(task book.Task) [][]string {
	all := [][]string{task.Prompt}
	if task.Availability != nil {
		all = append(all, task.Availability.Condition)
	}
	if c := task.Criteria; c != nil {
		all = append(all, c.Condition, c.FailureAction.AdditionalPrompt)
	}
	return all
}

func TestBuiltInBookHasFourJobsWithButtons(t *testing.T) {
	b := book.BuiltIn()
	var buttons []string
	for _, row := range b.Grid {
		for _, button := range row.Jobs {
			buttons = append(buttons, button.JobName)
		}
	}
	assert.ElementsMatch(t, []string{"understand", "refine", "implement", "review"}, buttons)
	for name, input := range map[string]bool{"understand": false, "refine": true, "implement": true, "review": false} {
		require.Contains(t, b.Jobs, name)
		assert.Equal(t, input, b.Jobs[name].RequireUserInput, name)
	}
}

func TestBuiltInBookNamesNoModel(t *testing.T) {
	b := book.BuiltIn()
	for category, id := range b.Models.ByCategory {
		assert.Empty(t, id, category)
	}
	for name, task := range b.Tasks {
		assert.Empty(t, b.Model(task.Model, book.ModelRef{}), name)
	}
}

func TestBuiltInBookIsFullyUsed(t *testing.T) {
	b := book.BuiltIn()
	done := map[string]bool{}
	for _, job := range b.Jobs {
		for w := range job.Work.All() {
			done[w.Task] = true
		}
	}
	var said strings.Builder
	for name, task := range b.Tasks {
		assert.True(t, done[name], "task %s", name)
		for _, prompt := range prompts(task) {
			said.WriteString(strings.Join(prompt, "\n") + "\n")
		}
	}
	for _, lines := range b.Variables {
		said.WriteString(strings.Join(lines, "\n") + "\n")
	}
	for name := range b.Variables {
		assert.Regexp(t, `\$`+name+`\b`, said.String())
	}
}

func TestBuiltInPromptsNameRequiredTools(t *testing.T) {
	b := book.BuiltIn()
	for name, task := range b.Tasks {
		prompt := b.Expand(task.Prompt, nil)
		if task.Criteria != nil {
			for _, tool := range task.Criteria.ToolExecuted {
				assert.Contains(t, prompt, "call `"+tool+"`", name)
			}
		}
	}
}

// The scripted model obeys some words wherever they occur. To decide, it calls both boolean tools in the
// order in which the prompt names them, so true must come last: then each job succeeds.
func TestBuiltInPromptsSuitScriptedModel(t *testing.T) {
	b := book.BuiltIn()
	orders := regexp.MustCompile("(?i)(^|[^\\w.-])(think|markdown|recall|fail|break|show request)([^\\w-]|$)|call `job_prerequisite")
	for name, task := range b.Tasks {
		for _, prompt := range prompts(task) {
			text := b.Expand(prompt, map[string]string{book.UserInput: "", book.ReportedDocument: "", book.ReportedFalseReason: ""})
			assert.NotRegexp(t, orders, text, name)
			assert.NotContains(t, text, book.Missing, name)
			no, yes := strings.Index(text, book.BooleanFalse), strings.Index(text, book.BooleanTrue)
			assert.LessOrEqual(t, no, yes, name)
		}
	}
}

func TestChartsOfBuiltInBookAreComplete(t *testing.T) {
	b := book.BuiltIn()
	for name := range b.Jobs {
		checkChart(t, b, name)
	}
}

// checkChart checks that each task has one node, all nodes are reachable, and all but one have an outgoing arrow.
func checkChart(t *testing.T, b *book.Book, job string) {
	t.Helper()
	nodes := b.Chart(job)
	works := map[int]string{}
	reached := map[int]bool{1: true}
	ends := 0
	for i, node := range nodes {
		require.Equal(t, i+1, node.ID)
		if node.Hint.Work != 0 {
			require.NotContains(t, works, node.Hint.Work)
			works[node.Hint.Work] = node.Label
		}
		onward := 0
		for _, arrow := range node.Arrows {
			require.Equal(t, arrow.LoopBack, arrow.To <= node.ID)
			reached[arrow.To] = true
			if !arrow.LoopBack {
				onward++
			}
		}
		if onward == 0 && len(node.Arrows) == 0 {
			ends++
		}
	}
	require.Len(t, reached, len(nodes))
	require.Equal(t, 1, ends)
	for w := range b.Jobs[job].Work.All() {
		if w.Kind == book.Ref {
			require.Equal(t, w.Task, works[w.ID])
		}
	}
}
