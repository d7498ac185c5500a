package spec

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Here stand the values that come in more than one form.

// Code is a status code; it may be written as a number.
type Code string

// UnmarshalJSON takes text and numbers.
func (c *Code) UnmarshalJSON(data []byte) error {
	if value := jsontext.Value(data); value.Kind() == '0' {
		*c = Code(value)
		return nil
	}
	return json.Unmarshal(data, (*string)(c))
}

// Type is the name of a type, or a model.
type Type struct {
	Name  string
	Model *Model
}

// MarshalJSON writes the model if there is one.
func (t Type) MarshalJSON() ([]byte, error) {
	if t.Model != nil {
		return json.Marshal(t.Model, json.Deterministic(true))
	}
	return json.Marshal(t.Name)
}

// UnmarshalJSON takes a text, or an object, which is a model.
func (t *Type) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '{' {
		return json.Unmarshal(data, &t.Model)
	}
	return json.Unmarshal(data, &t.Name)
}

// Required says which properties must be there, or whether the value itself must.
type Required struct {
	Names []string
	Self  bool
}

// IsZero is true if nothing must be there.
func (r Required) IsZero() bool { return len(r.Names) == 0 && !r.Self }

// MarshalJSON writes the names if there are any.
func (r Required) MarshalJSON() ([]byte, error) {
	if len(r.Names) > 0 {
		return json.Marshal(r.Names)
	}
	return json.Marshal(r.Self)
}

// UnmarshalJSON takes true, false or a list of names.
func (r *Required) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '[' {
		return json.Unmarshal(data, &r.Names)
	}
	return json.Unmarshal(data, &r.Self)
}

// Additional says whether an object may have properties that are not named, and of which model they are if that is known.
type Additional struct {
	Allowed *bool
	Model   *Model
}

// IsZero is true if nothing is said.
func (a Additional) IsZero() bool { return a.Allowed == nil && a.Model == nil }

// MarshalJSON writes the model if there is one.
func (a Additional) MarshalJSON() ([]byte, error) {
	if a.Model != nil {
		return json.Marshal(a.Model, json.Deterministic(true))
	}
	return json.Marshal(a.Allowed)
}

// UnmarshalJSON takes true, false or a model.
func (a *Additional) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '{' {
		return json.Unmarshal(data, &a.Model)
	}
	return json.Unmarshal(data, &a.Allowed)
}

// UnmarshalJSON takes a text, too.
func (t *Tag) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '"' {
		return json.Unmarshal(data, &t.Name)
	}
	type plain Tag
	return json.Unmarshal(data, (*plain)(t))
}

// UnmarshalJSON takes a model, too, as the schema of a body. It is one if it has keys of a model, or names in required, and no
// schema; normalized.schema.json has the same rule.
func (b *Body) UnmarshalJSON(data []byte) error {
	type plain Body
	if !bodyIsModel(data) {
		return json.Unmarshal(data, (*plain)(b))
	}
	var media struct {
		ContentType  string   `json:"contentType"`
		ContentTypes []string `json:"contentTypes"`
	}
	var m Model
	if err := errors.Join(json.Unmarshal(data, &media), json.Unmarshal(data, &m)); err != nil {
		return err
	}
	for _, key := range []string{"schema", "contentType", "contentTypes"} {
		delete(m.Extra, key)
	}
	*b = Body{Description: m.Description, Required: !m.Required.IsZero(), ContentType: media.ContentType, ContentTypes: media.ContentTypes, Schema: &m}
	return nil
}

func bodyIsModel(data []byte) bool {
	var keys map[string]jsontext.Value
	if json.Unmarshal(data, &keys) != nil || keys["schema"].Kind() == '{' {
		return false
	}
	for _, key := range []string{"name", "type", "ref", "format", "properties", "items", "additionalProperties", "enumValues", "oneOf", "anyOf"} {
		if keys[key] != nil {
			return true
		}
	}
	return keys["required"].Kind() == '['
}
