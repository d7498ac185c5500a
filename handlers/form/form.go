// Package form encodes and decodes forms, and decodes answers to questions, as JSON, in the same way for every dialect.
package form

import (
	"cmp"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/wire"
)

// Field is the JSON of an [event.Field]. Empty members are omitted.
type Field struct {
	Name     string          `json:"name"`
	Title    string          `json:"title"` // never empty
	Detail   string          `json:"detail,omitempty"`
	Type     event.FieldType `json:"type"`
	Required bool            `json:"required"`
	Choices  []Choice        `json:"choices,omitempty"`
	Default  any             `json:"default,omitempty" jsonschema:"the value that is used if none is given"`
	Format   string          `json:"format,omitempty"`
	Min      *float64        `json:"min,omitempty"`
	Max      *float64        `json:"max,omitempty"`
}

// Choice is the JSON of an [event.Choice].
type Choice struct {
	Value string `json:"value"`
	Title string `json:"title"`
}

// Fields returns the fields of a form in order. The result is never nil.
func Fields(f *event.Form) []Field {
	if f == nil {
		return []Field{}
	}
	return wire.List(f.Fields, func(x event.Field) Field {
		return Field{
			x.Name, cmp.Or(x.Title, x.Name), x.Detail, x.Type, x.Required, choices(x.Choices), x.Default, x.Format, x.Min, x.Max,
		}
	})
}

func choices(choices []event.Choice) []Choice {
	return wire.List(choices, func(c event.Choice) Choice { return Choice{c.Value, cmp.Or(c.Title, c.Value)} })
}

// Values converts decoded JSON to the values of fields. The session checks whether
// they match the form. Errors are of kind [fault.Invalid].
func Values(decoded map[string]any) (map[string]any, error) {
	values := make(map[string]any, len(decoded))
	for name, v := range decoded {
		value, err := value(v)
		if err != nil {
			return nil, fault.Errorf(fault.Invalid, "field %q: %w", name, err)
		}
		values[name] = value
	}
	return values, nil
}

func value(v any) (any, error) {
	switch v := v.(type) {
	case string, float64, bool:
		return v, nil
	case []any:
		return stringList(v)
	case nil:
		return nil, fault.Errorf(fault.Invalid, "null is not a value: omit the field")
	}
	return nil, fault.Errorf(fault.Invalid, "use a string, a number, a boolean or a list of strings")
}

func stringList(list []any) ([]string, error) {
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, fault.Errorf(fault.Invalid, "the list has a value that is not a string")
		}
		out = append(out, s)
	}
	return out, nil
}
