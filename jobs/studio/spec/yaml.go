package spec

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// fromYAML makes JSON of the one document of a YAML text, in its order. There are no aliases: a few lines of them can stand for
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
		return nil, fault("is no description: neither a map in JSON or YAML nor GraphQL SDL")
	}
	keepVersions(root)
	w := &yamlWriter{}
	w.value(root, 0)
	return w.json, w.faults
}

// yamlFault takes the line out of an error of the YAML library, which tells it in its text only.
func yamlFault(err error) Fault {
	if errors.Is(err, io.EOF) {
		return Fault{Path: ".", Text: "is empty"}
	}
	said := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if rest, ok := strings.CutPrefix(said, "line "); ok {
		if digits, after, found := strings.Cut(rest, ": "); found {
			if n, err := strconv.Atoi(digits); err == nil {
				line, said = n, after
			}
		}
	}
	return Fault{".", line, "is not YAML: " + oneLine(said)}
}

// keepVersions makes text of versions that look like numbers, which nobody puts in quotes.
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
	w.json = append(w.json, open+2) // the bracket that closes it
}

func (w *yamlWriter) text(s string) {
	w.json, _ = jsontext.AppendQuote(w.json, strings.ToValidUTF8(s, "\uFFFD"))
}

// scalar writes everything that JSON has no word for as text: dates, infinities, unknown tags.
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
