package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A step is one thing that a script does.
type step interface {
	// run streams the step into the answer. It ends early when the client is gone.
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

func think(topic string) step {
	return reason("Let me think about "+topic+". ", "I am a script, ", "so I only follow the keywords of the prompt, ", "one after another. ")
}

// burst streams counted words, evenly paced.
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

// pause waits, but not longer than the client does.
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

// breakConnection cuts the connection.
func breakConnection(_ context.Context, _ *turn, a *answer) error {
	if err := a.text("This sentence will never be"); err != nil {
		return err
	}
	return errors.New("the script breaks the answer off")
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

// A call is a step that calls a tool of the CLI and so ends the answer.
type call struct {
	tools []string // the names that the tool may have; the first that is offered is called
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
	return a.callTool(name, string(args))
}

func sql(description, query string) call {
	return call{[]string{"sql"}, map[string]any{"description": description, "query": query}}
}

// insertTodos replaces the to-dos of an earlier plan, for the table outlives the prompt and its ids are unique.
func insertTodos(todos []string) string {
	rows := make([]string, len(todos))
	for i, title := range todos {
		rows[i] = fmt.Sprintf("('step-%d', '%s', '', 'pending')", i+1, strings.ReplaceAll(title, "'", "''"))
	}
	return "DELETE FROM todo_deps; DELETE FROM todos; INSERT INTO todos (id, title, description, status) VALUES " +
		strings.Join(rows, ", ") + ";"
}

func setTodo(i int, status string) string {
	return fmt.Sprintf("UPDATE todos SET status = '%s' WHERE id = 'step-%d';", status, i+1)
}
