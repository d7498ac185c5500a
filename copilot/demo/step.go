package demo

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A step is an action of a script.
type step interface {
	// run streams the step into the answer until the client is gone.
	run(ctx context.Context, t *turn, a *answer) error
}

// A streamed step calls no tool.
type streamed func(context.Context, *turn, *answer) error

func (s streamed) run(ctx context.Context, t *turn, a *answer) error { return s(ctx, t, a) }

func say(text string) step {
	return streamed(func(_ context.Context, _ *turn, a *answer) error { return a.text(text) })
}

// reason streams reasoning, a line per chunk.
func reason(lines ...string) step {
	return streamed(func(_ context.Context, _ *turn, a *answer) error {
		for _, line := range lines {
			if err := a.emit(delta{Reasoning: line}); err != nil {
				return err
			}
		}
		return nil
	})
}

// burst streams counted words at an even pace.
func burst(count int, over time.Duration) step {
	return streamed(func(ctx context.Context, _ *turn, a *answer) error {
		start := time.Now()
		for i := 1; i <= count; i++ {
			due := time.Duration(float64(over) * float64(i) / float64(count))
			if err := pause(ctx, time.Until(start.Add(due))); err != nil {
				return err
			}
			word := fmt.Sprintf("w%d ", i)
			if i == count {
				word = word[:len(word)-1]
			}
			if err := a.emit(delta{Content: word}); err != nil {
				return err
			}
		}
		return nil
	})
}

func wait(d time.Duration) step {
	return streamed(func(ctx context.Context, _ *turn, a *answer) error {
		if err := a.emit(delta{Reasoning: "waiting "}); err != nil {
			return err
		}
		return pause(ctx, d)
	})
}

// pause waits until the duration has passed or the client is gone.
func pause(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func fail(status int) step {
	return streamed(func(context.Context, *turn, *answer) error {
		return newFailure(status, "demo_failure", fmt.Sprintf("The script failed with status %d, as it was told to.", status))
	})
}

func breakConnection(_ context.Context, _ *turn, a *answer) error {
	if err := a.text("This sentence will never be"); err != nil {
		return err
	}
	return errors.New("the script broke the connection")
}

func recall(_ context.Context, t *turn, a *answer) error { return a.text(listPrompts(t.earlier)) }

func showRequest(_ context.Context, t *turn, a *answer) error {
	var shown strings.Builder
	e := json.NewEncoder(&shown)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(map[string]any{"prompt": t.raw, "messages": t.messages, "tools": t.tools, "directory": t.dir})
	if err != nil {
		return err
	}
	return a.text(shown.String())
}

// A call is a step that calls a tool of the CLI, which ends the answer.
type call struct {
	tools []string // possible names of the tool; the first offered one is called
	args  map[string]any
}

func (c call) run(_ context.Context, t *turn, a *answer) error {
	name, ok := t.offers(c.tools...)
	if !ok {
		return a.text(fmt.Sprintf("I was not offered the tool `%s`, only: %s. ", c.tools[0], strings.Join(t.tools, ", ")))
	}
	args, err := json.Marshal(c.args)
	if err != nil {
		return err
	}
	return a.callTool(t.offered(name), string(args))
}

func sql(description, query string) call {
	return call{[]string{"sql"}, map[string]any{"description": description, "query": query}}
}

// insertTodos replaces the to-dos of an earlier plan, because the table outlives the prompt and its ids are unique.
func insertTodos(todos []string) string {
	rows := make([]string, len(todos))
	for i, title := range todos {
		rows[i] = fmt.Sprintf("('step-%d', '%s', '', 'pending')", i+1, strings.ReplaceAll(title, "'", "''"))
	}
	return "DELETE FROM todo_deps; DELETE FROM todos; INSERT INTO todos (id, title, description, status) VALUES " +
		strings.Join(rows, ", ") + ";"
}

// setTodo returns the call that changes the status of a to-do.
func setTodo(description string, i int, status string) step {
	return sql(description, fmt.Sprintf("UPDATE todos SET status = '%s' WHERE id = 'step-%d';", status, i+1))
}

// Canned texts.
var (
	//go:embed canned/sample.md
	sample string
	//go:embed canned/introduction.md
	introduction string
	//go:embed canned/plan.md
	cannedPlan string
	//go:embed canned/*.json
	cannedReports embed.FS
)

func listPrompts(earlier []string) string {
	if len(earlier) == 0 {
		return "This is the first prompt of the conversation.\n"
	}
	var list strings.Builder
	list.WriteString("The earlier prompts of this conversation:\n\n")
	for i, prompt := range earlier {
		fmt.Fprintf(&list, "%d. %s\n", i+1, strings.ReplaceAll(prompt, "\n", "\n   "))
	}
	return list.String()
}

// summarizeResults quotes the beginnings of tool results, except for changes of to-dos.
func summarizeResults(script []step, t *turn) string {
	const maxLines, maxWidth = 12, 200
	text, results := "The script is done.", t.results
	for _, s := range script {
		if !t.calls(s) || len(results) == 0 {
			continue
		}
		lines := strings.Split(strings.TrimRight(results[0].text, "\n"), "\n")
		if more := len(lines) - maxLines; more > 0 {
			lines = append(lines[:maxLines], fmt.Sprintf("… and %d more lines", more))
		}
		for i := range lines {
			lines[i] = shorten(lines[i], maxWidth)
		}
		quoted, fence := strings.Join(lines, "\n"), "```"
		for strings.Contains(quoted, fence) {
			fence += "`"
		}
		if c, ok := s.(call); ok && c.tools[0] != "sql" {
			text += "\n\n" + fence + "\n" + quoted + "\n" + fence
		}
		results = results[1:]
	}
	return text
}

// firstLine returns the beginning of a text, short enough for a heading.
func firstLine(s string) string {
	const enough = 80
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return shorten(line, enough)
}

// shorten truncates a text to limit characters.
func shorten(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return string(runes[:limit-1]) + "…"
}
