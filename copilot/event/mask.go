package event

import (
	"maps"
	"slices"

	"github.com/copilot-portal/portal/copilot/secret"
)

// Masker keeps what looks like a credential out of a record. What the policy
// reads, the agent is told and a client's tool is called with stays whole.
type Masker struct {
	texts map[string]*maskedText // those that are still coming, by their group
}

// maskedText is a text that comes in pieces.
type maskedText struct {
	secret.Stream
	id    string
	agent string
	piece func(id, text string) Body
	cut   bool // its run has ended; what follows is left out, as it may be the rest of a credential
}

// Mask gives a body as it may be shown; nil for a piece of text that has to be
// held back for now.
func (m *Masker) Mask(agent string, b Body) Body {
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

func (m *Masker) write(agent string, b Body, id, text string, piece func(id, text string) Body) Body {
	key, _ := Group(Event{Body: b})
	t := m.texts[key]
	if t == nil {
		t = &maskedText{id: id, agent: agent, piece: piece}
		if m.texts == nil {
			m.texts = map[string]*maskedText{}
		}
		m.texts[key] = t
	}
	if t.cut {
		return nil
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

// Owed gives the pieces that were held back of texts that a body ends: its own,
// or at the end of a run all.
func (m *Masker) Owed(b Body) []Event {
	if _, over := b.(RunEnded); over {
		var events []Event
		for _, key := range slices.Sorted(maps.Keys(m.texts)) {
			t := m.texts[key]
			events = append(events, t.flush()...)
			t.cut = true
		}
		return events
	}
	if _, begins := b.(RunStarted); begins {
		clear(m.texts)
	}
	if key, end := Group(Event{Body: b}); end {
		return m.close(key)
	}
	return nil
}

func (m *Masker) close(key string) []Event {
	t := m.texts[key]
	if t == nil {
		return nil
	}
	delete(m.texts, key)
	return t.flush()
}

// flush is the piece that was held back, if there is one.
func (t *maskedText) flush() []Event {
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
		b.Prompt = MaskPrompt(b.Prompt)
		return b
	case QuestionAsked:
		b.Question = maskedQuestion(b.Question)
		return b
	case QuestionClosed:
		b.Answer = maskedAnswer(b.Answer)
		return b
	case SessionError:
		b.Text, b.Hint, b.Exit = secret.Mask(b.Text), secret.Mask(b.Hint), secret.Mask(b.Exit)
		return b
	case RunEnded:
		b.Text = secret.Mask(b.Text)
		return b
	case TitleChanged:
		b.Title = secret.Mask(b.Title)
		return b
	case CompactionEnded:
		b.Summary, b.Error = secret.Mask(b.Summary), secret.Mask(b.Error)
		return b
	case SubagentEnded:
		b.Error = secret.Mask(b.Error)
		return b
	case ServerChanged:
		b.Server.Error = secret.Mask(b.Server.Error)
		return b
	case PlanChanged:
		return maskedPlan(b)
	case Notice:
		b.Raw = secret.MaskJSON(b.Raw)
		return b
	}
	return body
}

// MaskPrompt returns a prompt as it may be shown.
func MaskPrompt(p Prompt) Prompt {
	p.Text, p.Meta = secret.Mask(p.Text), secret.MaskJSON(p.Meta)
	p.Attachments = slices.Clone(p.Attachments)
	for i := range p.Attachments {
		a := &p.Attachments[i]
		a.Text, a.Name, a.Symbol = secret.Mask(a.Text), secret.Mask(a.Name), secret.Mask(a.Symbol)
	}
	return p
}

// maskedQuestion leaves whole what an answer has to name and what a client's tool
// is called with.
func maskedQuestion(q Question) Question {
	q.Title, q.Detail, q.Text = secret.Mask(q.Title), secret.Mask(q.Detail), secret.Mask(q.Text)
	if q.Form == nil {
		return q
	}
	form := Form{Fields: slices.Clone(q.Form.Fields)}
	for i := range form.Fields {
		f := &form.Fields[i]
		f.Title, f.Detail, f.Default = secret.Mask(f.Title), secret.Mask(f.Detail), maskedValue(f.Default)
	}
	q.Form = &form
	return q
}

// maskedValue masks what a field can hold.
func maskedValue(value any) any {
	switch v := value.(type) {
	case string:
		return secret.Mask(v)
	case []string:
		list := make([]string, len(v))
		for i, text := range v {
			list[i] = secret.Mask(text)
		}
		return list
	}
	return value
}

func maskedAnswer(a Answer) Answer {
	a.Text, a.Reason = secret.Mask(a.Text), secret.Mask(a.Reason)
	a.Fields = maps.Clone(a.Fields)
	for name, value := range a.Fields {
		a.Fields[name] = maskedValue(value)
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
