package transcript

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is spec/ui.schema.json.
type Schema struct {
	message *jsonschema.Schema
	defs    map[string]*jsonschema.Schema
}

// ReadSchema reads the schema from its file. An invalid schema is an error.
func ReadSchema(path string) (*Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	root, err := c.Compile(path)
	if err != nil {
		return nil, err
	}
	document, err := definitions(path)
	if err != nil {
		return nil, err
	}
	s := &Schema{message: root, defs: map[string]*jsonschema.Schema{}}
	for name := range document {
		if s.defs[name], err = c.Compile(path + "#/$defs/" + name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func definitions(path string) (map[string]any, error) {
	document, err := jsonschema.FileLoader{}.Load("file://" + path)
	if err != nil {
		return nil, err
	}
	object, _ := document.(map[string]any)
	defs, ok := object["$defs"].(map[string]any)
	if !ok {
		return nil, errors.New("the schema has no $defs")
	}
	return defs, nil
}

// Has reports whether there is a definition with this name, as in "run.start.params".
func (s *Schema) Has(name string) bool { return s.defs[name] != nil }

// Knows reports whether a method or a notification is described.
func (s *Schema) Knows(method string) bool { return s.Has(method + ".params") }

// Check validates a message. If it is a response, Check also validates its result for the method answered.
func (s *Schema) Check(message any, answered string) error {
	if err := s.message.Validate(message); err != nil {
		return err
	}
	object, _ := message.(map[string]any)
	result, there := object["result"]
	if !there {
		return nil
	}
	if !s.Has(answered + ".result") {
		return fmt.Errorf("it answers %q, which has no result", answered)
	}
	return s.defs[answered+".result"].Validate(result)
}
