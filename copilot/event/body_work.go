package event

import (
	"encoding/json"
	"time"
)

// Tool calls.
type (
	// ToolStarted is a tool call. Parent is the call of the sub-agent that made it.
	ToolStarted struct {
		ID        string          `json:"id,omitzero"`
		Parent    string          `json:"parent,omitzero"`
		Name      string          `json:"name,omitzero"`
		Arguments json.RawMessage `json:"arguments,omitempty"` // nil if none
	}
	// ToolOutput is a piece of output while the tool runs.
	ToolOutput struct {
		ID   string `json:"id,omitzero"`
		Text string `json:"text,omitzero"`
	}
	// ToolEnded holds a result, an error, or both: a call that failed may have a result, such as a command with an exit
	// code other than 0.
	ToolEnded struct {
		ID     string      `json:"id,omitzero"`
		Result *ToolResult `json:"result,omitzero"`
		Error  *ToolError  `json:"error,omitzero"`
	}
)

// ToolResult is the result of a tool: Content for the model, Detail for people.
type ToolResult struct {
	Content string `json:"content,omitzero"`
	Detail  string `json:"detail,omitzero"`
}

// ToolError says why a tool call failed. Code is the agent's, or "", [CodeDenied], [CodeInterrupted] or [CodeExit].
type ToolError struct {
	Text string `json:"text,omitzero"`
	Code string `json:"code,omitzero"`
}

// How the agent organizes its work.
type (
	// PlanChanged holds the whole current plan.
	PlanChanged struct {
		Text  string `json:"text,omitzero"` // Markdown; "" until the agent has proposed a plan
		Todos []Todo `json:"todos,omitzero"`
	}
	// SubagentStarted starts a sub-agent, whose events carry its id in [Event.Agent].
	SubagentStarted struct {
		ID    string `json:"id,omitzero"`
		Call  string `json:"call,omitzero"`  // the tool call that started it
		Name  string `json:"name,omitzero"`  // its kind
		Title string `json:"title,omitzero"` // for people
	}
	// SubagentEnded ends it.
	SubagentEnded struct {
		ID        string        `json:"id,omitzero"`
		Outcome   Outcome       `json:"outcome,omitzero"`
		Error     string        `json:"error,omitzero"` // reason of a failure
		Tokens    int64         `json:"tokens,omitzero"`
		ToolCalls int64         `json:"tool_calls,omitzero"`
		Duration  time.Duration `json:"duration_ns,omitzero"`
	}
)

// Todo is a step of a plan.
type Todo struct {
	ID     string    `json:"id,omitzero"`
	Title  string    `json:"title,omitzero"`
	Detail string    `json:"detail,omitzero"`
	State  TodoState `json:"state,omitzero"`
	After  []string  `json:"after,omitzero"` // ids of the steps that must be done first
}

// TodoState is the state of a step.
type TodoState string

// The states of a step. A blocked step is pending.
const (
	TodoPending   TodoState = "pending"
	TodoRunning   TodoState = "running"
	TodoCompleted TodoState = "completed"
)

func (b ToolStarted) visit(v visitor) Body {
	v.text(&b.Name, masked)
	v.json(&b.Arguments, masked|counted)
	return b
}

func (b ToolOutput) visit(v visitor) Body {
	v.text(&b.Text, masked|counted)
	return b
}

func (b ToolEnded) visit(v visitor) Body {
	at(v, &b.Result, (*ToolResult).visit)
	at(v, &b.Error, (*ToolError).visit)
	return b
}

func (r *ToolResult) visit(v visitor) {
	v.text(&r.Content, masked|counted)
	v.text(&r.Detail, masked|counted)
}

func (e *ToolError) visit(v visitor) { v.text(&e.Text, masked|counted) }

func (b PlanChanged) visit(v visitor) Body {
	v.text(&b.Text, masked|counted)
	each(v, &b.Todos, (*Todo).visit)
	return b
}

func (t *Todo) visit(v visitor) {
	v.hold(EntryCost)
	v.text(&t.Title, masked|counted)
	v.text(&t.Detail, masked|counted)
}

func (b SubagentStarted) visit(v visitor) Body {
	v.text(&b.Name, masked)
	v.text(&b.Title, masked)
	return b
}

func (b SubagentEnded) visit(v visitor) Body {
	v.text(&b.Error, masked|counted)
	return b
}
