package event

import (
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Record is what happened in a session, numbered from 1. See [journal.Journal]
// for how it is read; only the session appends to it.
type Record = journal.Journal[Event]

// EntryCost is what an event costs in memory besides its texts: the entry, its
// body and their headers, rounded up. In bytes.
const EntryCost = 256

// Group says which events an end can stand for: deltas of a message, of a
// thought, and a tool's output.
func Group(e Event) (key string, end bool) {
	switch b := e.Body.(type) {
	case ReasoningDelta:
		return "r" + b.ID, false
	case ReasoningEnded:
		return "r" + b.ID, true
	case MessageDelta:
		return "m" + b.ID, false
	case MessageEnded:
		return "m" + b.ID, true
	case ToolOutput:
		return "t" + b.ID, false
	case ToolEnded:
		return "t" + b.ID, true
	}
	return "", false
}

// Cost estimates the memory that an event holds, in bytes.
func Cost(e Event) int {
	n := EntryCost
	switch b := e.Body.(type) {
	case UserMessage:
		n += costOfPrompt(b.Prompt)
	case ReasoningDelta:
		n += len(b.Text)
	case ReasoningEnded:
		n += len(b.Text)
	case MessageDelta:
		n += len(b.Text)
	case MessageEnded:
		n += len(b.Text)
	case ToolStarted:
		n += len(b.Arguments)
	case ToolOutput:
		n += len(b.Text)
	default:
		n += costOfRare(b)
	}
	return n
}

func costOfRare(body Body) int {
	switch b := body.(type) {
	case ToolEnded:
		return costOfResult(b)
	case QuestionAsked:
		return costOfQuestion(b.Question)
	case QuestionClosed:
		return costOfAnswer(b.Answer)
	case SessionError:
		return len(b.Text) + len(b.Hint)
	case PlanChanged:
		return costOfPlan(b)
	case SubagentEnded:
		return len(b.Error)
	case CompactionEnded:
		return len(b.Summary) + len(b.Error)
	case RunEnded:
		return len(b.Text)
	case Notice:
		return len(b.Raw)
	case PolicyChanged:
		return costOfRules(b.Rules) + costOfRules(b.Remembered)
	case QueueChanged:
		return costOfWaiting(b.Waiting)
	}
	return 0
}

func costOfRules(rules permission.Policy) int {
	n := 0
	for name := range rules {
		n += len(name) + EntryCost
	}
	return n
}

func costOfWaiting(list []Waiting) int {
	n := 0
	for _, w := range list {
		n += len(w.Run) + len(w.Text) + EntryCost
	}
	return n
}

func costOfResult(b ToolEnded) int {
	n := 0
	if b.Result != nil {
		n += len(b.Result.Content) + len(b.Result.Detail)
	}
	if b.Error != nil {
		n += len(b.Error.Text)
	}
	return n
}

func costOfQuestion(q Question) int {
	n := len(q.Title) + len(q.Detail) + len(q.Text) + len(q.Arguments)
	for _, c := range q.Choices {
		n += len(c)
	}
	if q.Form != nil {
		n += costOfForm(q.Form)
	}
	return n
}

func costOfForm(f *Form) int {
	n := 0
	for _, field := range f.Fields {
		n += EntryCost + len(field.Name) + len(field.Title) + len(field.Detail) + costOfValue(field.Default)
		for _, c := range field.Choices {
			n += 2*textCost + len(c.Value) + len(c.Title)
		}
	}
	return n
}

func costOfAnswer(a Answer) int {
	n := len(a.Text) + len(a.Reason)
	for name, value := range a.Fields {
		n += textCost + len(name) + costOfValue(value)
	}
	return n
}

// textCost is what a text costs besides its bytes, and any small value.
const textCost = 32

func costOfValue(value any) int {
	n := textCost
	switch v := value.(type) {
	case string:
		n += len(v)
	case []string:
		for _, s := range v {
			n += textCost + len(s)
		}
	}
	return n
}

func costOfPrompt(p Prompt) int {
	n := len(p.Text) + len(p.Meta)
	for _, a := range p.Attachments {
		n += EntryCost + len(a.Text) + len(a.Data)
	}
	return n
}

func costOfPlan(p PlanChanged) int {
	n := len(p.Text)
	for _, t := range p.Todos {
		n += EntryCost + len(t.Title) + len(t.Detail)
	}
	return n
}
