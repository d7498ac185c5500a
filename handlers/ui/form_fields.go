package ui

import (
	"cmp"
	"context"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/form"
)

// fill asks for each field of a form, for a UI that does not take whole forms.
func (r questionRelay) fill(ctx context.Context) (event.Answer, error) {
	values := map[string]any{}
	if r.question.Form == nil {
		return event.Answer{Approved: true, Fields: values}, nil
	}
	for _, f := range r.question.Form.Fields {
		value, ok, err := r.field(ctx, f)
		if err != nil || !ok {
			return event.Answer{}, err
		}
		if value != nil {
			values[f.Name] = value
		}
	}
	return event.Answer{Approved: true, Fields: values}, nil
}

// field asks for a value until it fits; ok is false if the user declines.
func (r questionRelay) field(ctx context.Context, f event.Field) (value any, ok bool, err error) {
	fault := ""
	for range attempts {
		var text string
		if text, ok, err = r.value(ctx, f, fault); err != nil || !ok {
			return nil, false, err
		}
		if value, err = form.Read(f, text); err == nil {
			return value, true, nil
		}
		fault = err.Error()
	}
	return nil, false, nil
}

// value asks once. A required field with choices becomes a pick where the UI can do that.
func (r questionRelay) value(ctx context.Context, f event.Field, fault string) (text string, ok bool, err error) {
	message := strings.TrimSpace(strings.Join([]string{fault, r.question.Text, f.Detail}, "\n\n"))
	if items := choices(f); items != nil && r.capabilities().Pick && f.Required {
		ids, err := r.pick(ctx, pickParams{Title: r.label(f), Items: items})
		if err != nil || len(ids) == 0 {
			return "", false, err
		}
		return ids[0], true, nil
	}
	if items := choices(f); items != nil {
		message += "\n"
		for _, i := range items {
			message += "\n- " + i.Label
		}
	}
	return r.prompt(ctx, promptParams{Title: r.label(f), Message: message, Default: form.Shown(f.Default)})
}

func (r questionRelay) label(f event.Field) string {
	label := r.formTitle() + ": " + cmp.Or(f.Title, f.Name)
	if !f.Required {
		label += " (optional)"
	}
	return label
}

// choices returns the choices of a field; nil if it has none. A list takes several values, which
// the user types.
func choices(f event.Field) []item {
	if f.Type == event.FieldBoolean {
		return []item{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}}
	}
	var items []item
	for _, c := range f.Choices {
		if f.Type == event.FieldText {
			items = append(items, item{ID: c.Value, Label: cmp.Or(c.Title, c.Value)})
		}
	}
	return items
}
