package report

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/copilot-portal/portal/copilot/plain"
)

// validate returns the faults of arguments according to the schema of the tool.
func validate(t Type, args any) []string {
	schema, err := compile(t)
	if err != nil {
		return []string{err.Error()} // cannot happen: a test compiles all schemas
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(schema.Validate(args), &invalid) {
		return nil
	}
	faults := faultsOf(invalid)
	slices.Sort(faults)
	return faults
}

// compile compiles the schema of a tool. That takes a tenth of a millisecond, and an operation needs it once or twice.
func compile(t Type) (*jsonschema.Schema, error) {
	tool, _ := Tool(t)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.Schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(tool.Name, document); err != nil {
		return nil, err
	}
	return compiler.Compile(tool.Name)
}

// faultsOf flattens the tree of an error.
func faultsOf(e *jsonschema.ValidationError) (faults []string) {
	for _, cause := range e.Causes {
		faults = append(faults, faultsOf(cause)...)
	}
	if len(e.Causes) == 0 {
		return explain(e)
	}
	return faults
}

// explain says what is wrong at a place and what to do about it.
func explain(e *jsonschema.ValidationError) (faults []string) {
	at := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			faults = append(faults, place(at, name)+" is missing")
		}
		return faults
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			faults = append(faults, place(at, plain.Cut(name, 60))+" is unknown: leave it out")
		}
		return faults
	case *kind.Type:
		return []string{place(at) + " must be of type " + strings.Join(k.Want, " or ") + ", not " + k.Got}
	case *kind.Enum:
		return []string{place(at) + " must be one of " + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(k.Want), "[]")), ", ")}
	case *kind.MinLength:
		return []string{place(at) + " is empty"}
	case *kind.MaxLength:
		return []string{fmt.Sprintf("%s has %d characters; at most %d are allowed", place(at), k.Got, k.Want)}
	case *kind.MaxItems:
		return []string{fmt.Sprintf("%s has %d elements; at most %d are allowed, so keep the most important ones", place(at), k.Got, k.Want)}
	case *kind.Minimum:
		return []string{place(at) + " must be at least " + k.Want.RatString()}
	case *kind.Maximum:
		return []string{place(at) + " must be at most " + k.Want.RatString()}
	}
	return []string{place(at) + " does not fit the schema: see " + strings.Join(e.ErrorKind.KeywordPath(), ".")}
}

// place names a value, such as findings[0].text.
func place(at []string, more ...string) string {
	text := ""
	for _, name := range slices.Concat(at, more) {
		if _, err := strconv.Atoi(name); err == nil {
			name = "[" + name + "]"
		} else if text != "" {
			name = "." + name
		}
		text += name
	}
	if text == "" {
		return "the argument"
	}
	return text
}

// checker collects the faults of texts that fit the schema.
type checker struct{ faults []string }

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// text trims a text that must not be blank.
func (c *checker) text(at string, text *string) {
	if *text = strings.TrimSpace(*text); *text == "" {
		c.fault("%s is empty", at)
	}
}

// choices trims texts that must neither be blank nor occur twice.
func (c *checker) choices(at string, texts []string) {
	for i := range texts {
		c.text(fmt.Sprintf("%s[%d]", at, i), &texts[i])
		if texts[i] != "" && slices.Contains(texts[:i], texts[i]) {
			c.fault("%s[%d] is a duplicate", at, i)
		}
	}
}
