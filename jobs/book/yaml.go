package book

import (
	"bytes"
	"encoding/json"
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
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if digits, after, found := strings.Cut(rest, ": "); found {
			if n, err := strconv.Atoi(digits); err == nil {
				line, message = n, after
			}
		}
	}
	return &Fault{Line: line, Text: "is not YAML: " + message}
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

// isJSON reports whether a file is JSON rather than YAML. Most JSON is valid YAML, but the YAML library
// rejects tabs and does not decode surrogate pairs.
func isJSON(name string, data []byte) bool {
	return strings.HasSuffix(strings.ToLower(name), ".json") || json.Valid(data)
}

func readJSON(data []byte) (*value, *Fault) {
	r := &jsonReader{data: data, line: 1, decoder: json.NewDecoder(bytes.NewReader(data))}
	r.decoder.UseNumber()
	v, err := r.value()
	if err == nil {
		if _, err = r.token(); errors.Is(err, io.EOF) {
			return v, nil
		}
		err = errors.New("is not JSON: there is text after the end")
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("is not JSON: unexpected end")
	}
	return nil, &Fault{Line: r.line, Text: err.Error()}
}

// jsonReader reads tokens and tracks their lines.
type jsonReader struct {
	limitCounter
	data    []byte
	decoder *json.Decoder
	counted int // bytes whose lines are already counted
	line    int
}

func (r *jsonReader) token() (json.Token, error) {
	token, err := r.decoder.Token()
	r.count(int(r.decoder.InputOffset()))
	if err == nil {
		return token, nil
	}
	at := len(r.data)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = int(syntax.Offset)
	}
	r.count(at)
	return nil, fmt.Errorf("is not JSON: %w", err)
}

func (r *jsonReader) count(to int) {
	if to = min(to, len(r.data)); to > r.counted {
		r.line += bytes.Count(r.data[r.counted:to], []byte("\n"))
		r.counted = to
	}
}

func (r *jsonReader) value() (*value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	v := &value{shape: null, line: r.line}
	switch token := token.(type) {
	case json.Delim:
		return v, r.parts(v, token)
	case string:
		v.shape, v.text = text, token
	case json.Number:
		v.shape, v.text = number, token.String()
	case bool:
		v.shape, v.text = flag, fmt.Sprint(token)
	}
	return v, nil
}

func (r *jsonReader) parts(v *value, begin json.Delim) error {
	v.shape = list
	if begin == '{' {
		v.shape = object
	}
	for r.decoder.More() {
		var p part
		if v.shape == object {
			key, err := r.token()
			if err != nil {
				return err
			}
			p.key = fmt.Sprint(key)
		}
		read, err := r.value()
		if err != nil {
			return err
		}
		p.line, p.value = read.line, read
		v.parts = append(v.parts, p)
	}
	_, err := r.token()
	return err
}
