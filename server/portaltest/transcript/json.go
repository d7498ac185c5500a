package transcript

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// decode decodes a JSON value in the form that the schema's library requires, which keeps numbers as written.
func decode(line string) (any, error) {
	return jsonschema.UnmarshalJSON(strings.NewReader(line))
}

// encode encodes a value as JSON without HTML escapes.
func encode(value any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func sorted(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

// member returns the string at a path of nested objects, or "" if there is none.
func member(value any, path ...string) string {
	for _, key := range path {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	text, _ := value.(string)
	return text
}

func has(value any, key string) bool {
	object, _ := value.(map[string]any)
	_, there := object[key]
	return there
}
