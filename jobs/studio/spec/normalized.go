package spec

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

//go:embed normalized.schema.json
var normalizedSchema []byte

// normalized reads a NormalizedSpec. Optional values may be null or missing.
func normalized(raw []byte) (*Spec, Faults) {
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fault("is not JSON: %v", err)
	}
	schema, err := compiled()
	if err != nil {
		return nil, fault("%v", err)
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(instance); errors.As(err, &invalid) {
		return nil, faultsOf(invalid)
	}
	if raw, err = schemesAsList(raw, instance); err != nil {
		return nil, fault("%v", err)
	}
	var spec Spec
	if err := jsonv2.Unmarshal(raw, &spec); err != nil {
		return nil, fault("%v", err)
	}
	spec.complete()
	return &spec, nil
}

func compiled() (*jsonschema.Schema, error) {
	const name = "normalized.schema.json"
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(normalizedSchema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, document); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

// schemesAsList converts a map of security schemes to a list.
func schemesAsList(raw []byte, instance any) ([]byte, error) {
	top, ok := instance.(map[string]any)
	if !ok {
		return raw, nil
	}
	byName, ok := top["securitySchemes"].(map[string]any)
	if !ok {
		return raw, nil
	}
	list := []any{}
	for _, name := range sorted(byName) {
		if scheme, ok := byName[name].(map[string]any); ok {
			if parameter, ok := scheme["name"]; ok && scheme["parameter"] == nil {
				scheme["parameter"] = parameter // as in OpenAPI
			}
			scheme["name"] = name
			list = append(list, scheme)
		}
	}
	top["securitySchemes"] = list
	return json.Marshal(top) // can encode the numbers of the validator
}

// complete adds missing values that follow from others.
func (s *Spec) complete() {
	s.Models = slices.Concat([]*Model{}, s.Models)
	for _, e := range s.Endpoints {
		e.Parameters = slices.Concat([]*Parameter{}, e.Parameters)
		if e.Responses == nil {
			e.Responses = map[string]*Response{}
		}
		for code, r := range e.Responses {
			r.StatusCode = cmp.Or(r.StatusCode, Code(code))
		}
		for _, p := range e.Parameters {
			p.Type = cmp.Or(p.Type, "any")
		}
	}
	for kind, fields := range s.fields() {
		for _, f := range fields {
			f.Args = slices.Concat([]*Arg{}, f.Args)
			f.Type = cmp.Or(f.Type, kind)
		}
	}
}

// faultsOf flattens the tree of a validation error, in the order of the paths.
func faultsOf(e *jsonschema.ValidationError) Faults {
	var faults Faults
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 && len(faults) < maxFaults {
			faults = append(faults, described(e)...)
		}
	}
	walk(e)
	slices.SortStableFunc(faults, func(a, b Fault) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(faults)
}

func described(e *jsonschema.ValidationError) Faults {
	path := e.InstanceLocation
	text := func(format string, args ...any) Faults {
		return Faults{{joined(path), 0, oneLine(fmt.Sprintf(format, args...))}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		var faults Faults
		for _, name := range k.Missing {
			faults = append(faults, Fault{joined(append(slices.Clone(path), name)), 0, "is missing"})
		}
		return faults
	case *kind.Type:
		return text("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return text("must be one of %s", strings.Trim(fmt.Sprint(k.Want), "[]"))
	case *kind.MinLength:
		return text("must not be empty")
	case *kind.MaxItems:
		return text("has %d items; %d are allowed", k.Got, k.Want)
	case *kind.Pattern:
		return text("%q does not have the form %s", k.Got, k.Want)
	}
	message := e.Error()
	if _, rest, ok := strings.Cut(message, "': "); ok {
		message = rest // drop the name of the schema
	}
	return text("is invalid: %v", strings.TrimSpace(message))
}
