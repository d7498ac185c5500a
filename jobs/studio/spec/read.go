package spec

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a description. They are far above those of the largest APIs that people have interfaces made for.
const (
	maxBytes     = 10 << 20
	maxValues    = 2_000_000
	maxDepth     = 200
	maxModels    = 300_000 // with those in them
	maxEndpoints = 10_000
	maxFaults    = 50
)

// Parse reads a description that stands in a message: a NormalizedSpec, an OpenAPI 3 or Swagger 2 object, the result of a
// GraphQL introspection, or a text with one of these (JSON or YAML) or with GraphQL SDL. The error is of type Faults.
func Parse(raw json.RawMessage) (*Spec, error) {
	value := jsontext.Value(raw)
	switch value.Kind() {
	case '{':
		return object(raw)
	case '"':
		if len(raw) > 6*maxBytes { // each byte may be an escape
			return nil, fault("is longer than %d bytes", maxBytes)
		}
		var text string
		if err := jsonv2.Unmarshal(raw, &text); err != nil {
			return nil, fault("is not JSON: %v", err)
		}
		return Read("", []byte(text))
	}
	return nil, fault("must be an object or a text")
}

// Read reads a description that stands in a file of this name, which may be empty. The error is of type Faults.
func Read(name string, text []byte) (*Spec, error) {
	switch {
	case len(text) > maxBytes:
		return nil, fault("is longer than %d bytes", maxBytes)
	case !utf8.Valid(text):
		return nil, fault("is not UTF-8")
	}
	content := strings.TrimPrefix(string(text), "\uFEFF")
	switch strings.ToLower(path.Ext(name)) {
	case ".graphql", ".graphqls", ".gql":
		return sdl(content)
	case ".json":
		return object([]byte(content))
	}
	switch trimmed := strings.TrimSpace(content); {
	case trimmed == "":
		return nil, fault("is empty")
	case isSDL(trimmed):
		return sdl(content)
	case trimmed[0] == '{' && jsontext.Value(trimmed).IsValid(jsontext.AllowDuplicateNames(true)):
		return object([]byte(trimmed))
	}
	converted, faults := fromYAML([]byte(content))
	if faults != nil {
		return nil, faults
	}
	return object(converted)
}

// isSDL tells whether a text begins as GraphQL SDL does, after comments and the description of the first type.
func isSDL(text string) bool {
	begin := regexp.MustCompile(`^(?:[\s,]|#[^\n]*|"""(?s:.*?)"""|"[^"\n]*")*(?:extend\s+)?(?:(?:type|interface|union|enum|input|scalar)\s+[A-Za-z_]|schema\s*[{@]|directive\s*@)`)
	return begin.MatchString(text)
}

// object reads a description that is a JSON object, and finds out which one it is.
func object(raw []byte) (*Spec, error) {
	if faults := bounded(raw); faults != nil {
		return nil, faults
	}
	var top map[string]jsontext.Value
	if err := jsonv2.Unmarshal(raw, &top); err != nil {
		return nil, fault("must be an object")
	}
	spec, faults := recognized(raw, top)
	if faults != nil {
		return nil, faults
	}
	return spec, nil
}

func recognized(raw []byte, top map[string]jsontext.Value) (*Spec, Faults) {
	var data map[string]jsontext.Value
	if top["data"] != nil && jsonv2.Unmarshal(top["data"], &data) != nil {
		data = nil
	}
	switch {
	case top["openapi"] != nil:
		return openAPI(raw)
	case top["swagger"] != nil:
		return swagger(raw)
	case top["__schema"] != nil:
		return introspection(top["__schema"])
	case top["format"] != nil || top["metadata"] != nil || top["endpoints"] != nil:
		return normalized(raw)
	case data["__schema"] != nil:
		return introspection(data["__schema"])
	}
	return nil, fault("is no description that is known: it has none of format (a NormalizedSpec), openapi, swagger and __schema")
}
