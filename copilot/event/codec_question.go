package event

import (
	"encoding/json"
	"time"

	"github.com/copilot-portal/portal/copilot/permission"
)

// The forms in which questions and answers are written.
type (
	questionAsked struct {
		question
		Scopes []scope `json:"scopes,omitzero"` // stands for question.Scopes
		Form   *form   `json:"form,omitzero"`   // stands for question.Form
	}
	scope struct {
		Kind  permission.ScopeKind `json:"kind,omitzero"`
		Rules []string             `json:"rules,omitzero"`
		Label string               `json:"label,omitzero"`
	}
	question struct {
		ID        string             `json:"id,omitzero"`
		Kind      QuestionKind       `json:"kind,omitzero"`
		Call      string             `json:"call,omitzero"`
		Deadline  time.Time          `json:"deadline,omitzero"`
		Names     []string           `json:"names,omitzero"`
		Path      string             `json:"path,omitzero"`
		Opaque    bool               `json:"opaque,omitzero"`
		Scopes    []permission.Scope `json:"-"`
		Needs     []permission.Need  `json:"-"`
		Title     string             `json:"title,omitzero"`
		Detail    string             `json:"detail,omitzero"`
		Text      string             `json:"text,omitzero"`
		Choices   []string           `json:"choices,omitzero"`
		Freeform  bool               `json:"freeform,omitzero"`
		Source    string             `json:"source,omitzero"`
		Form      *Form              `json:"-"`
		URL       string             `json:"url,omitzero"`
		Tool      string             `json:"tool,omitzero"`
		Arguments json.RawMessage    `json:"arguments,omitempty"`
	}
	form struct {
		Fields []field `json:"fields,omitzero"`
	}
	field struct {
		Name     string    `json:"name,omitzero"`
		Title    string    `json:"title,omitzero"`
		Detail   string    `json:"detail,omitzero"`
		Type     FieldType `json:"type,omitzero"`
		Required bool      `json:"required,omitzero"`
		Choices  []choice  `json:"choices,omitzero"`
		Default  any       `json:"default,omitempty"`
		Format   string    `json:"format,omitzero"`
		Min      *float64  `json:"min,omitzero"`
		Max      *float64  `json:"max,omitzero"`
	}
	choice struct {
		Value string `json:"value,omitzero"`
		Title string `json:"title,omitzero"`
	}
	questionAnswered struct {
		ID     string       `json:"id,omitzero"`
		Kind   QuestionKind `json:"kind,omitzero"`
		By     string       `json:"by,omitzero"`
		Ending Ending       `json:"ending,omitzero"`
		Answer answer       `json:"answer,omitzero"`
	}
	answer struct {
		Approved bool                 `json:"approved,omitzero"`
		Remember bool                 `json:"remember,omitzero"`
		Scope    permission.ScopeKind `json:"scope,omitzero"`
		Reason   string               `json:"reason,omitzero"`
		Text     string               `json:"text,omitzero"`
		Fields   map[string]any       `json:"fields,omitzero"`
		Failed   bool                 `json:"failed,omitzero"`
	}
)

func questionAskedForm(q Question) questionAsked {
	q.Deadline = formatUTC(q.Deadline)
	q.Arguments = validJSON(q.Arguments)
	w := questionAsked{question: question(q), Scopes: mapSlice(q.Scopes, func(s permission.Scope) scope { return scope(s) })}
	if q.Form != nil {
		w.Form = &form{mapSlice(q.Form.Fields, fieldForm)}
	}
	return w
}

func (w questionAsked) body() Body {
	q := Question(w.question)
	q.Deadline = formatUTC(q.Deadline)
	q.Scopes = mapSlice(w.Scopes, func(s scope) permission.Scope { return permission.Scope(s) })
	if w.Form != nil {
		q.Form = &Form{mapSlice(w.Form.Fields, field.field)}
	}
	return QuestionAsked{q}
}

func fieldForm(f Field) field {
	choices := mapSlice(f.Choices, func(c Choice) choice { return choice(c) })
	return field{f.Name, f.Title, f.Detail, f.Type, f.Required, choices, f.Default, f.Format, f.Min, f.Max}
}

func (w field) field() Field {
	choices := mapSlice(w.Choices, func(c choice) Choice { return Choice(c) })
	return Field{w.Name, w.Title, w.Detail, w.Type, w.Required, choices, texts(w.Default), w.Format, w.Min, w.Max}
}

func (w questionAnswered) body() Body {
	for name, value := range w.Answer.Fields {
		w.Answer.Fields[name] = texts(value)
	}
	return QuestionClosed{w.ID, w.Kind, w.By, w.Ending, Answer(w.Answer)}
}

// texts makes a list of texts of one that has nothing else; other values stay.
func texts(value any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return value
		}
		out = append(out, s)
	}
	return out
}
