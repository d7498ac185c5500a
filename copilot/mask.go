package copilot

import (
	"maps"
	"slices"

	"github.com/copilot-portal/portal/copilot/secret"
)

// masks keeps what looks like a credential out of a record. What the policy
// reads, the agent is told and a client's tool is called with stays whole.
type masks struct {
	texts map[string]*maskedText // those that are still coming, by their group
}

// maskedText is a text that comes in pieces.
type maskedText struct {
	secret.Stream
	id    string
	agent string
	piece func(id, text string) Body
}

// mask gives a body as it may be shown; nil for a piece of text that has to be
// held back for now.
func (m *masks) mask(agent string, b Body) Body {
	switch b := b.(type) {
	case ReasoningDelta:
		return m.write(agent, b, b.ID, b.Text, func(id, text string) Body { return ReasoningDelta{id, text} })
	case MessageDelta:
		return m.write(agent, b, b.ID, b.Text, func(id, text string) Body { return MessageDelta{id, text} })
	case ToolOutput:
		return m.write(agent, b, b.ID, b.Text, func(id, text string) Body { return ToolOutput{id, text} })
	case ReasoningEnded:
		b.Text = secret.Mask(b.Text)
		return b
	case MessageEnded:
		b.Text = secret.Mask(b.Text)
		return b
	case ToolStarted:
		b.Arguments = secret.MaskJSON(b.Arguments)
		return b
	case ToolEnded:
		return maskedEnd(b)
	}
	return maskedRare(b)
}

func (m *masks) write(agent string, b Body, id, text string, piece func(id, text string) Body) Body {
	key, _ := group(Event{Body: b})
	t := m.texts[key]
	if t == nil {
		t = &maskedText{id: id, agent: agent, piece: piece}
		if m.texts == nil {
			m.texts = map[string]*maskedText{}
		}
		m.texts[key] = t
	}
	safe := t.Write(text)
	switch safe {
	case "":
		return nil
	case text:
		return b
	}
	return piece(id, safe)
}

// owed gives the pieces that were held back of texts that a body ends: its own,
// or at the end of a run all.
func (m *masks) owed(b Body) []Event {
	if _, over := b.(RunEnded); over {
		var events []Event
		for _, key := range slices.Sorted(maps.Keys(m.texts)) {
			events = append(events, m.close(key)...)
		}
		return events
	}
	if key, end := group(Event{Body: b}); end {
		return m.close(key)
	}
	return nil
}

func (m *masks) close(key string) []Event {
	t := m.texts[key]
	if t == nil {
		return nil
	}
	delete(m.texts, key)
	rest := t.Close()
	if rest == "" {
		return nil
	}
	return []Event{{Agent: t.agent, Body: t.piece(t.id, rest)}}
}

func maskedEnd(b ToolEnded) Body {
	if b.Result != nil {
		b.Result = &ToolResult{Content: secret.Mask(b.Result.Content), Detail: secret.Mask(b.Result.Detail)}
	}
	if b.Error != nil {
		b.Error = &ToolError{Text: secret.Mask(b.Error.Text), Code: b.Error.Code}
	}
	return b
}

func maskedRare(body Body) Body {
	switch b := body.(type) {
	case UserMessage:
		b.Prompt = maskedPrompt(b.Prompt)
		return b
	case QuestionAsked:
		q := &b.Question
		q.Title, q.Detail, q.Text = secret.Mask(q.Title), secret.Mask(q.Detail), secret.Mask(q.Text)
		return b
	case QuestionAnswered:
		b.Answer = maskedAnswer(b.Answer)
		return b
	case SessionFailed:
		b.Text = secret.Mask(b.Text)
		return b
	case RunEnded:
		b.Text = secret.Mask(b.Text)
		return b
	case TitleChanged:
		b.Title = secret.Mask(b.Title)
		return b
	case CompactionEnded:
		b.Summary = secret.Mask(b.Summary)
		return b
	case PlanChanged:
		return maskedPlan(b)
	case Notice:
		b.Raw = secret.MaskJSON(b.Raw)
		return b
	}
	return body
}

func maskedPrompt(p Prompt) Prompt {
	p.Text = secret.Mask(p.Text)
	p.Attachments = slices.Clone(p.Attachments)
	for i := range p.Attachments {
		p.Attachments[i].Text = secret.Mask(p.Attachments[i].Text)
	}
	return p
}

func maskedAnswer(a Answer) Answer {
	a.Text, a.Reason = secret.Mask(a.Text), secret.Mask(a.Reason)
	a.Fields = maps.Clone(a.Fields)
	for name, value := range a.Fields {
		if text, ok := value.(string); ok {
			a.Fields[name] = secret.Mask(text)
		}
	}
	return a
}

func maskedPlan(p PlanChanged) PlanChanged {
	p.Text, p.Todos = secret.Mask(p.Text), slices.Clone(p.Todos)
	for i := range p.Todos {
		p.Todos[i].Title, p.Todos[i].Detail = secret.Mask(p.Todos[i].Title), secret.Mask(p.Todos[i].Detail)
	}
	return p
}
