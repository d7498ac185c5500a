package ask

import (
	"encoding/json"
	"time"

	"github.com/copilot-portal/portal/copilot"
)

// lines shows events as lines of JSON: time, type, and what belongs to it.
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
	Used      int64           `json:"used,omitempty"`
	Limit     int64           `json:"limit,omitempty"`
	Names     []string        `json:"names,omitempty"`
	Choices   []string        `json:"choices,omitempty"`
	By        string          `json:"by,omitempty"`
}

func (l lines) print(e copilot.Event) error {
	out, ok := said(e.Body)
	if !ok {
		out, ok = done(e.Body)
	}
	if !ok {
		return nil
	}
	out.Time, out.Agent = e.Time, e.Agent
	return l.Encode(out)
}

// said is what the model says.
func said(b copilot.Body) (line, bool) {
	switch b := b.(type) {
	case copilot.ReasoningDelta:
		return line{Type: "reasoning.delta", ID: b.ID, Text: b.Text}, true
	case copilot.ReasoningEnded:
		return line{Type: "reasoning", ID: b.ID, Text: b.Text}, true
	case copilot.MessageDelta:
		return line{Type: "message.delta", ID: b.ID, Text: b.Text}, true
	case copilot.MessageEnded:
		return line{Type: "message", ID: b.ID, Text: b.Text}, true
	}
	return line{}, false
}

// done is what happens besides.
func done(b copilot.Body) (line, bool) {
	switch b := b.(type) {
	case copilot.SessionOpened:
		return line{Type: "session", Model: b.Model}, true
	case copilot.SessionFailed:
		return line{Type: "error", Error: b.Text}, true
	case copilot.ModelChanged:
		return line{Type: "model", Model: b.Model}, true
	case copilot.UsageChanged:
		return line{Type: "usage", Used: b.Used, Limit: b.Limit}, true
	case copilot.ToolStarted:
		return line{Type: "tool.start", ID: b.ID, Parent: b.Parent, Name: b.Name, Arguments: b.Arguments}, true
	case copilot.ToolOutput:
		return line{Type: "tool.output", ID: b.ID, Text: b.Text}, true
	case copilot.ToolEnded:
		return toolEnded(b), true
	case copilot.QuestionAsked:
		return question(b.Question), true
	case copilot.QuestionAnswered:
		return line{Type: "answered", ID: b.ID, By: b.By}, true
	case copilot.RunEnded:
		return line{Type: "end", Outcome: string(b.Outcome), Error: b.Text}, true
	}
	return line{}, false
}

func toolEnded(b copilot.ToolEnded) line {
	l := line{Type: "tool.end", ID: b.ID}
	if b.Result != nil {
		l.Result = b.Result.Content
	}
	if b.Error != nil {
		l.Error = b.Error.Text
	}
	return l
}

func question(q copilot.Question) line {
	if q.Kind == copilot.AskInput {
		return line{Type: "question", ID: q.ID, Text: q.Text, Choices: q.Choices}
	}
	return line{Type: "permission", ID: q.ID, Names: q.Names, Text: q.Detail}
}
