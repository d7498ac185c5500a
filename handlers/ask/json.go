package ask

import (
	"encoding/json"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/form"
	"github.com/copilot-portal/portal/handlers/wire"
)

// lines prints events as lines of JSON.
type lines struct{ *json.Encoder }

// line is one event. Members that do not belong to its type are absent.
type line struct {
	Time      time.Time       `json:"time"`
	Type      string          `json:"type"`
	Agent     string          `json:"agent,omitempty"`
	ID        string          `json:"id,omitempty"`
	Text      string          `json:"text,omitempty"`
	Name      string          `json:"name,omitempty"`
	Parent    string          `json:"parent,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    string          `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
	Outcome   string          `json:"outcome,omitempty"`
	Model     string          `json:"model,omitempty"`
	Hint      string          `json:"hint,omitempty"`
	Title     string          `json:"title,omitempty"`

	// Members of usage and compaction: tokens, and the cost of a prompt.
	Used       int64    `json:"used,omitempty"`
	Limit      int64    `json:"limit,omitempty"`
	Multiplier *float64 `json:"multiplier,omitempty"`
	Input      int64    `json:"input,omitempty"`
	Output     int64    `json:"output,omitempty"`
	Cached     int64    `json:"cached,omitempty"`
	Before     int64    `json:"before,omitempty"`
	After      int64    `json:"after,omitempty"`

	// Members of questions and their end.
	Kind    string       `json:"kind,omitempty"`
	Names   []string     `json:"names,omitempty"`
	Choices []string     `json:"choices,omitempty"`
	Scopes  []form.Scope `json:"scopes,omitempty"`
	Source  string       `json:"source,omitempty"`
	URL     string       `json:"url,omitempty"`
	Fields  []form.Field `json:"fields,omitzero"`
	By      string       `json:"by,omitempty"`

	// Members of plans and sub-agents.
	Todos   []todo  `json:"todos,omitzero"`
	Tokens  int64   `json:"tokens,omitempty"`
	Calls   int64   `json:"calls,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

type todo struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Detail string   `json:"detail,omitempty"`
	State  string   `json:"state"`
	After  []string `json:"after,omitempty"`
}

func (l lines) print(e event.Event) error {
	for _, translate := range []func(event.Body) (line, bool){textLine, toolLine, asked, planLine} {
		if out, ok := translate(e.Body); ok {
			out.Time, out.Agent = e.Time, e.Agent
			return l.Encode(out)
		}
	}
	return nil
}

// textLine encodes messages, reasoning and errors.
func textLine(b event.Body) (line, bool) {
	switch b := b.(type) {
	case event.ReasoningDelta:
		return line{Type: "reasoning.delta", ID: b.ID, Text: b.Text}, true
	case event.ReasoningEnded:
		return line{Type: "reasoning", ID: b.ID, Text: b.Text}, true
	case event.MessageDelta:
		return line{Type: "message.delta", ID: b.ID, Text: b.Text}, true
	case event.MessageEnded:
		return line{Type: "message", ID: b.ID, Text: b.Text}, true
	}
	return line{}, false
}

// toolLine encodes tool calls, runs and models.
func toolLine(b event.Body) (line, bool) {
	switch b := b.(type) {
	case event.SessionOpened:
		return line{Type: "session", Model: b.Model}, true
	case event.SessionError:
		return line{Type: "error", Error: b.Text, Hint: b.Hint}, true
	case event.ModelChanged:
		return line{Type: "model", Model: b.Model}, true
	case event.ToolStarted:
		return line{Type: "tool.start", ID: b.ID, Parent: b.Parent, Name: b.Name, Arguments: b.Arguments}, true
	case event.ToolOutput:
		return line{Type: "tool.output", ID: b.ID, Text: b.Text}, true
	case event.ToolEnded:
		return toolEnded(b), true
	case event.RunEnded:
		l := line{Type: "end", Outcome: string(b.Outcome)}
		if b.Outcome != event.Completed { // then it is no error
			l.Error = b.Text
		}
		return l, true
	}
	return line{}, false
}

func toolEnded(b event.ToolEnded) line {
	l := line{Type: "tool.end", ID: b.ID}
	if b.Result != nil {
		l.Result = b.Result.Content
	}
	if b.Error != nil {
		l.Error = b.Error.Text
	}
	return l
}

// asked encodes questions, except calls of client tools.
func asked(b event.Body) (line, bool) {
	switch b := b.(type) {
	case event.QuestionAsked:
		return question(b.Question), b.Question.Kind != event.AskTool
	case event.QuestionClosed:
		return line{Type: "answered", ID: b.ID, By: b.By, Outcome: string(b.Ending)}, true
	}
	return line{}, false
}

func question(q event.Question) line {
	if q.Kind == event.AskPermission {
		return line{Type: "permission", ID: q.ID, Names: q.Names, Title: q.Title, Text: q.Detail, Scopes: form.Scopes(q.Scopes)}
	}
	l := line{Type: "question", ID: q.ID, Kind: string(q.Kind), Title: q.Title, Text: q.Text, Choices: q.Choices, Source: q.Source, URL: q.URL}
	if q.Kind == event.AskForm {
		l.Fields = form.Fields(q.Form)
	}
	return l
}

// planLine encodes plans, sub-agents, compactions and usage.
func planLine(b event.Body) (line, bool) {
	switch b := b.(type) {
	case event.PlanChanged:
		return line{Type: "plan", Text: b.Text, Todos: todos(b.Todos)}, true
	case event.SubagentStarted:
		return line{Type: "subagent.start", ID: b.ID, Parent: b.Call, Name: b.Name, Title: b.Title}, true
	case event.SubagentEnded:
		return line{
			Type: "subagent.end", ID: b.ID, Outcome: string(b.Outcome), Error: b.Error,
			Tokens: b.Tokens, Calls: b.ToolCalls, Seconds: b.Duration.Seconds(),
		}, true
	case event.CompactionStarted:
		return line{Type: "compaction.start", Used: b.Used}, true
	case event.CompactionEnded:
		return line{Type: "compaction", Before: b.Before, After: b.After, Text: b.Summary, Error: b.Error}, true
	case event.UsageChanged:
		return line{Type: "usage", Used: b.Used, Limit: b.Limit, Multiplier: &b.Multiplier}, true
	case event.ModelCalled:
		return line{Type: "usage", Model: b.Model, Input: b.Input, Output: b.Output, Cached: b.Cached}, true
	case event.SessionClosed, event.TitleChanged, event.PolicyChanged, event.ServerChanged, event.Notice, event.RunStarted,
		event.UserMessage, event.QueueChanged, event.TurnStarted, event.TurnEnded, event.ReasoningStarted, event.MessageStarted,
		event.FilesRestored: // ignored
	}
	return line{}, false
}

func todos(of []event.Todo) []todo {
	return wire.List(of, func(t event.Todo) todo { return todo{t.ID, t.Title, t.Detail, string(t.State), t.After} })
}
