// Package form is the JSON of forms, the same in every dialect.
package form

import (
	"cmp"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Field is a [event.Field]. Members without a value are absent.
type Field struct {
	Name     string          `json:"name"`
	Title    string          `json:"title"` // never empty
	Detail   string          `json:"detail,omitempty"`
	Type     event.FieldType `json:"type"`
	Required bool            `json:"required"`
	Choices  []Choice        `json:"choices,omitempty"`
	Default  any             `json:"default,omitempty"`
	Format   string          `json:"format,omitempty"`
	Min      *float64        `json:"min,omitempty"`
	Max      *float64        `json:"max,omitempty"`
}

// Choice is a [event.Choice].
type Choice struct {
	Value string `json:"value"`
	Title string `json:"title"`
}

// Fields gives the fields of a form in their order; never nil.
func Fields(f *event.Form) []Field {
	if f == nil {
		return []Field{}
	}
	list := make([]Field, 0, len(f.Fields))
	for _, x := range f.Fields {
		list = append(list, Field{
			x.Name, cmp.Or(x.Title, x.Name), x.Detail, x.Type, x.Required, choices(x.Choices), x.Default, x.Format, x.Min, x.Max,
		})
	}
	return list
}

func choices(of []event.Choice) []Choice {
	list := make([]Choice, 0, len(of))
	for _, c := range of {
		list = append(list, Choice{c.Value, cmp.Or(c.Title, c.Value)})
	}
	return list
}

// Values takes decoded JSON as the values of fields; whether they fit the form
// is for the session to say. Errors are of the kind [fault.Invalid].
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
		return texts(v)
	case nil:
		return nil, fault.Errorf(fault.Invalid, "null is no value: leave the field out")
	}
	return nil, fault.Errorf(fault.Invalid, "use a text, a number, true, false or a list of texts")
}

func texts(list []any) ([]string, error) {
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, fault.Errorf(fault.Invalid, "its list holds something else than texts")
		}
		out = append(out, s)
	}
	return out, nil
}
