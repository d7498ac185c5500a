package demo

import (
	"fmt"
	"path/filepath"
	"strings"
)

// A call is a step that calls a tool of the CLI and so ends the answer.
type call struct {
	title string   // what the report calls it; nothing is reported without a title
	tools []string // the names that the tool may have; the first that is offered is called
	args  map[string]any
}

// longestCommand is how long the CLI waits for a command, in seconds, before it moves it to the background.
const longestCommand = 600

func parseRun(r *reader) ([]step, verdict) {
	args, v := r.exactly(1)
	if v != complete {
		return nil, v
	}
	return []step{call{
		title: "run " + quoteCode(firstLine(args[0])),
		tools: []string{"bash", "powershell"},
		args: map[string]any{
			"command": args[0], "description": "Run " + firstLine(args[0]), "initial_wait": longestCommand,
		},
	}}, v
}

func parseWrite(r *reader) ([]step, verdict) {
	args, v := r.exactly(2)
	if v != complete {
		return nil, v
	}
	return []step{r.onFile("write", "create", args[0], map[string]any{"file_text": args[1]})}, v
}

func parseEdit(r *reader) ([]step, verdict) {
	args, v := r.exactly(3)
	if v != complete {
		return nil, v
	}
	return []step{r.onFile("edit", "edit", args[0], map[string]any{"old_str": args[1], "new_str": args[2]})}, v
}

func parseRead(r *reader) ([]step, verdict) {
	args, v := r.exactly(1)
	if v != complete {
		return nil, v
	}
	return []step{r.onFile("read", "view", args[0], map[string]any{})}, v
}

// onFile calls a tool with the absolute path that it wants.
func (r *reader) onFile(word, tool, file string, args map[string]any) call {
	args["path"] = file
	if !filepath.IsAbs(file) {
		args["path"] = filepath.Join(r.dir, file)
	}
	return call{title: word + " " + quoteCode(file), tools: []string{tool}, args: args}
}

func parseAsk(r *reader) ([]step, verdict) {
	question, v := r.exactly(1)
	if v != complete {
		return nil, v
	}
	args := map[string]any{"question": question[0]}
	at := r.at
	r.skipJoints()
	if r.peek(0).plain() != "choices" {
		r.at = at
		return []step{call{title: "ask " + quoteCode(question[0]), tools: []string{"ask_user"}, args: args}}, complete
	}
	r.take()
	choices := r.args(len(r.tokens))
	if len(choices) == 0 {
		return nil, unfinished
	}
	args["choices"] = choices
	return []step{call{title: "ask " + quoteCode(question[0]), tools: []string{"ask_user"}, args: args}}, complete
}

// parsePlan writes the to-dos, and then starts and finishes each in calls of its own.
func parsePlan(r *reader) ([]step, verdict) {
	todos, v := r.exactly(1)
	if v != complete {
		return nil, v
	}
	todos = append(todos, r.args(len(r.tokens))...)
	steps := []step{sql("", "Write the plan", insertTodos(todos))}
	for i := range todos {
		title := ""
		if i == len(todos)-1 {
			title = "plan"
		}
		steps = append(steps,
			sql("", "Start a to-do", setTodo(i, "in_progress")),
			sql(title, "Finish a to-do", setTodo(i, "done")))
	}
	return steps, complete
}

// proposal puts a plan to the user, who wanted one. The CLI offers the tool while it is in plan mode.
func proposal(prompt string) call {
	return call{title: "plan", tools: []string{"exit_plan_mode"}, args: map[string]any{
		"summary": proposedPlan(prompt), "actions": []string{"interactive", "autopilot", "exit_only"}, "recommendedAction": "interactive",
	}}
}

func sql(title, description, query string) call {
	return call{title: title, tools: []string{"sql"}, args: map[string]any{"description": description, "query": query}}
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
