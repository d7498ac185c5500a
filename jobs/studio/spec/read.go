package spec

import (
	"bytes"
	"errors"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// Limits of a description, far above the largest APIs in use.
const (
	maxBytes     = 10 << 20
	maxValues    = 2_000_000
	maxDepth     = 200
	maxModels    = 300_000 // including nested ones
	maxEndpoints = 10_000
	maxAliases   = 1000
	maxFaults    = 50
)

// Parse reads a description from a JSON message: a NormalizedSpec, an OpenAPI 3 or Swagger 2 object, the result of a GraphQL
// introspection, or text with one of these (JSON or YAML) or with GraphQL SDL. The error is of type [Faults].
func Parse(raw []byte) (*Spec, error) {
	value := jsontext.Value(raw)
	switch value.Kind() {
	case '{':
		return object(raw)
	case '"':
		if len(raw) > 6*maxBytes { // each byte may be an escape
			return nil, fault("is longer than %d bytes", maxBytes)
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, fault("is not JSON: %v", err)
		}
		return Read("", []byte(text))
	}
	return nil, fault("must be an object or text")
}

// Read reads a description from the text of a file; name may be empty. The error is of type [Faults].
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
	case sdlBegin.MatchString(trimmed):
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

// sdlBegin matches the start of GraphQL SDL: comments, the description of the first type, and a keyword.
var sdlBegin = regexp.MustCompile(`^(?:[\s,]|#[^\n]*|"""(?s:.*?)"""|"[^"\n]*")*(?:extend\s+)?(?:(?:type|interface|union|enum|input|scalar)\s+[A-Za-z_]|schema\s*[{@]|directive\s*@)`)

// object reads a description that is a JSON object.
func object(raw []byte) (*Spec, error) {
	if faults := bounded(raw); faults != nil {
		return nil, faults
	}
	var top map[string]jsontext.Value
	if err := json.Unmarshal(raw, &top); err != nil {
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
	if top["data"] != nil && json.Unmarshal(top["data"], &data) != nil {
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
	return nil, fault("is not a known description: it has none of format (a NormalizedSpec), openapi, swagger and __schema")
}

// fromYAML converts the only document of a YAML text to JSON and keeps the order. It rejects aliases: a few lines of them can stand for
// billions of values.
func fromYAML(text []byte) ([]byte, Faults) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, Faults{yamlFault(err)}
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, Faults{{".", second.Line, "has a second document"}}
	} else if !errors.Is(err, io.EOF) {
		return nil, Faults{yamlFault(err)}
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fault("is not a description: neither a map in JSON or YAML nor GraphQL SDL")
	}
	keepVersions(root)
	w := &yamlWriter{}
	w.value(root, 0)
	return w.json, w.faults
}

// yamlFault extracts the line from the text of an error of the YAML library.
func yamlFault(err error) Fault {
	if errors.Is(err, io.EOF) {
		return Fault{Path: ".", Text: "is empty"}
	}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if digits, after, found := strings.Cut(rest, ": "); found {
			if n, err := strconv.Atoi(digits); err == nil {
				line, message = n, after
			}
		}
	}
	return Fault{".", line, "is not YAML: " + oneLine(message)}
}

// keepVersions turns version numbers into text, because they are rarely quoted.
func keepVersions(node *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		switch key, value := node.Content[i].Value, node.Content[i+1]; key {
		case "openapi", "swagger", "version":
			if value.Kind == yaml.ScalarNode && value.ShortTag() != "!!null" {
				value.Tag = "!!str"
			}
		case "info", "metadata":
			if value.Kind == yaml.MappingNode {
				keepVersions(value)
			}
		}
	}
}

type yamlWriter struct {
	json   []byte
	faults Faults
}

func (w *yamlWriter) value(node *yaml.Node, depth int) {
	if w.faults != nil {
		return
	}
	if depth > maxDepth {
		w.faults = Faults{{".", node.Line, "is nested deeper than " + strconv.Itoa(maxDepth)}}
		return
	}
	switch node.Kind {
	case yaml.AliasNode:
		w.faults = Faults{{".", node.Line, "has an alias (*" + oneLine(node.Value) + "), which is not read: write out what it stands for"}}
	case yaml.MappingNode:
		w.list('{', node, depth)
	case yaml.SequenceNode:
		w.list('[', node, depth)
	case yaml.ScalarNode, yaml.DocumentNode:
		w.scalar(node)
	}
}

func (w *yamlWriter) list(open byte, node *yaml.Node, depth int) {
	w.json = append(w.json, open)
	for i, item := range node.Content {
		switch {
		case open == '{' && i%2 == 1:
			w.json = append(w.json, ':')
		case i > 0:
			w.json = append(w.json, ',')
		}
		if open == '{' && i%2 == 0 {
			if item.Kind != yaml.ScalarNode {
				w.faults = Faults{{".", item.Line, "a key must be plain text"}}
				return
			}
			w.text(item.Value)
			continue
		}
		w.value(item, depth+1)
	}
	w.json = append(w.json, open+2) // the matching closing bracket
}

func (w *yamlWriter) text(s string) {
	w.json, _ = jsontext.AppendQuote(w.json, strings.ToValidUTF8(s, "\uFFFD"))
}

// scalar encodes a value, as text if JSON cannot express it: dates, infinities, unknown tags.
func (w *yamlWriter) scalar(node *yaml.Node) {
	var v any
	switch node.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!null":
		if err := node.Decode(&v); err == nil {
			if written, err := json.Marshal(v); err == nil {
				w.json = append(w.json, written...)
				return
			}
		}
	}
	w.text(node.Value)
}
