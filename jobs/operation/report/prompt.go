package report

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/copilot-portal/portal/copilot/fault"
)

//go:embed prompts/*.md prompts/parts/*.md
var files embed.FS

// A page is a prompt file: front matter and text.
type page struct {
	Sections []string `yaml:"sections"` // parts of the answer
	Headings []string `yaml:"headings"` // sections under which the agent reports progress
	body     string
}

// Prompt returns the prompt for the model. The document is between two lines that it cannot contain, so
// nothing in it can be mistaken for an instruction.
func Prompt(t Type, in Input) (string, error) {
	p, err := open(t)
	if err != nil {
		return "", err
	}
	if err := in.check(t); err != nil {
		return "", err
	}
	body, err := template.New(string(t)).Option("missingkey=error").ParseFS(files, "prompts/parts/*.md")
	if err != nil {
		return "", err
	}
	if body, err = body.Parse(p.body); err != nil {
		return "", err
	}
	var text bytes.Buffer
	code := codeFor(t, in)
	err = body.Execute(&text, map[string]any{
		"Name": oneLine(in.Name), "Prompt": strings.TrimSpace(in.Prompt), "Document": in.Document, "Headings": p.Headings,
		"Code": code, "Begin": Begin(code), "End": End(code), "Tool": ToolName(t),
	})
	return strings.TrimSpace(text.String()) + "\n", err
}

// Sections returns the names that the prompt file gives to the parts of the answer, and thus of the result.
func Sections(t Type) []string {
	p, err := open(t)
	if err != nil {
		return nil // an unknown type; a test reads all files
	}
	return p.Sections
}

// open reads the prompt file of a type.
func open(t Type) (page, error) {
	var p page
	if !slices.Contains(Types(), t) {
		return p, fault.Errorf(fault.Invalid, "unknown type of operation %q", string(t))
	}
	text, err := files.ReadFile("prompts/" + string(t) + ".md")
	if err != nil {
		return p, err
	}
	head, body, ok := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
	if !ok {
		return p, fmt.Errorf("the prompt file of %s has no front matter", t)
	}
	p.body = body
	d := yaml.NewDecoder(strings.NewReader(head))
	d.KnownFields(true)
	return p, d.Decode(&p)
}

// check rejects input that the model cannot work with.
func (in Input) check(t Type) error {
	switch {
	case t == Free && strings.TrimSpace(in.Prompt) == "":
		return fault.Errorf(fault.Invalid, "an operation of the type %s needs a prompt", t)
	case t != Free && strings.TrimSpace(in.Document) == "":
		return fault.Errorf(fault.Invalid, "an operation of the type %s needs a document that is not empty", t)
	case !utf8.ValidString(in.Document):
		return fault.Errorf(fault.Invalid, "the document is not UTF-8 text")
	}
	return nil
}

// oneLine replaces line breaks in a name.
func oneLine(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, name))
}
