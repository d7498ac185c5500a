package book

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML returns the only document of a YAML file.
func readYAML(data []byte) (*value, *Fault) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && len(document.Content) == 0 {
		return nil, &Fault{Text: "is empty"}
	}
	if err != nil {
		return nil, yamlFault(err)
	}
	if err = decoder.Decode(&second); err == nil {
		return nil, &Fault{Line: second.Line, Text: "has a second document"}
	}
	if !errors.Is(err, io.EOF) {
		return nil, yamlFault(err)
	}
	reader := &yamlReader{}
	v, err := reader.value(document.Content[0])
	if err != nil {
		return nil, &Fault{Text: err.Error()}
	}
	return v, nil
}

// yamlFault converts an error of the YAML library, whose text contains the line.
func yamlFault(err error) *Fault {
	said := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if rest, ok := strings.CutPrefix(said, "line "); ok {
		if digits, after, found := strings.Cut(rest, ": "); found {
			if n, err := strconv.Atoi(digits); err == nil {
				line, said = n, after
			}
		}
	}
	return &Fault{Line: line, Text: "is not YAML: " + said}
}

type yamlReader struct{ limitCounter }

func (r *yamlReader) value(node *yaml.Node) (*value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	switch node.Kind {
	case yaml.AliasNode:
		return r.value(node.Alias)
	case yaml.MappingNode:
		return r.object(node)
	case yaml.SequenceNode:
		return r.list(node)
	case yaml.ScalarNode, yaml.DocumentNode:
	}
	return scalar(node), nil
}

func (r *yamlReader) list(node *yaml.Node) (*value, error) {
	v := &value{shape: list, line: node.Line}
	for _, item := range node.Content {
		read, err := r.value(item)
		if err != nil {
			return nil, err
		}
		v.parts = append(v.parts, part{line: item.Line, value: read})
	}
	return v, nil
}

func (r *yamlReader) object(node *yaml.Node) (*value, error) {
	v := &value{shape: object, line: node.Line}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		read, err := r.value(node.Content[i+1])
		if err != nil {
			return nil, err
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			read = &value{shape: broken, line: key.Line, text: "a key must be plain text; merged maps (<<) are not supported"}
		}
		v.parts = append(v.parts, part{key: key.Value, line: key.Line, value: read})
	}
	return v, nil
}

func scalar(node *yaml.Node) *value {
	v := &value{text: node.Value, line: node.Line}
	switch tag := node.ShortTag(); tag {
	case "!!str", "!!timestamp": // dates are text, as in YAML 1.2
		v.shape = text
	case "!!int", "!!float":
		v.shape = number
	case "!!bool":
		v.shape = flag
	case "!!null":
		v.shape = null
	default:
		v.shape, v.text = broken, fmt.Sprintf("has the unknown tag %s", quote(tag))
	}
	return v
}
