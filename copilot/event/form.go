package event

import (
	"math"
	"slices"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Form is a flat form as requested by MCP servers (elicitation).
type Form struct {
	Fields []Field `json:"fields,omitzero"`
}

// Field is a field of a form.
type Field struct {
	Name     string    `json:"name,omitzero"`
	Title    string    `json:"title,omitzero"` // for people; "" means the name
	Detail   string    `json:"detail,omitzero"`
	Type     FieldType `json:"type,omitzero"`
	Required bool      `json:"required,omitzero"`
	Choices  []Choice  `json:"choices,omitzero"`  // of a text or a list: the allowed values
	Default  any       `json:"default,omitempty"` // as in [Answer.Fields]; nil if none
	Format   string    `json:"format,omitzero"`   // of a text: "email", "uri", "date", "date-time", or "" for any
	// Limits of a number, of the length of a text, or of the number of items.
	Min *float64 `json:"min,omitzero"`
	Max *float64 `json:"max,omitzero"`
}

// Choice is a value with a title for people.
type Choice struct {
	Value string `json:"value,omitzero"`
	Title string `json:"title,omitzero"`
}

// FieldType is the type of a field's value.
type FieldType string

// The types of fields.
const (
	FieldText    FieldType = "string"
	FieldNumber  FieldType = "number"
	FieldInteger FieldType = "integer"
	FieldBoolean FieldType = "boolean"
	FieldList    FieldType = "array" // of texts
)

// check rejects values that the form does not allow. It does not check text formats. A refusal needs no values.
func (f *Form) check(a Answer) error {
	if f == nil || !a.Approved {
		return nil
	}
	values := a.Fields
	for name := range values {
		if !slices.ContainsFunc(f.Fields, func(x Field) bool { return x.Name == name }) {
			return fault.Errorf(fault.Invalid, "there is no field %q", name)
		}
	}
	for _, field := range f.Fields {
		value, given := values[field.Name]
		switch {
		case given:
			if err := field.Check(value); err != nil {
				return fault.Errorf(fault.Invalid, "field %q: %w", field.Name, err)
			}
		case field.Required:
			return fault.Errorf(fault.Invalid, "field %q is missing", field.Name)
		}
	}
	return nil
}

// Check rejects a value that is not valid for the field. The error, of kind [fault.Invalid], does not name the field.
func (f Field) Check(value any) error {
	size, unit, ok := f.size(value)
	switch {
	case ok:
		return f.bounded(size, unit)
	case len(f.Choices) > 0:
		return fault.Errorf(fault.Invalid, "%v is not among the choices", value)
	}
	return fault.Errorf(fault.Invalid, "%v is not a valid %s", value, f.Type)
}

// size returns the size that the limits of the field apply to. ok is false for a value of another type or choice.
func (f Field) size(value any) (n float64, unit string, ok bool) {
	switch v := value.(type) {
	case string:
		return float64(len([]rune(v))), " characters", f.Type == FieldText && f.offers(v)
	case float64:
		return v, "", f.Type == FieldNumber || f.Type == FieldInteger && v == math.Trunc(v)
	case []string:
		return float64(len(v)), " items", f.Type == FieldList && !slices.ContainsFunc(v, func(s string) bool { return !f.offers(s) })
	case bool:
		return 0, "", f.Type == FieldBoolean
	}
	return 0, "", false
}

func (f Field) offers(value string) bool {
	return len(f.Choices) == 0 || slices.ContainsFunc(f.Choices, func(c Choice) bool { return c.Value == value })
}

func (f Field) bounded(n float64, unit string) error {
	switch {
	case f.Type == FieldBoolean:
	case f.Min != nil && n < *f.Min:
		return fault.Errorf(fault.Invalid, "at least %v%s are required", *f.Min, unit)
	case f.Max != nil && n > *f.Max:
		return fault.Errorf(fault.Invalid, "at most %v%s are allowed", *f.Max, unit)
	}
	return nil
}
