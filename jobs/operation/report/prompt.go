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

// A page is a prompt file: its front matter and what follows it.
type page struct {
	Sections []string `yaml:"sections"` // parts of the answer
	Headings []string `yaml:"headings"` // those of them under which the agent tells its progress
	body     string
}

// Prompt is what the model is told to do. The document stands between two lines that it cannot contain, so nothing in it
// can pass for an instruction.
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

// Sections are the names that the prompt file has for parts of the answer, and so of the result.
func Sections(t Type) []string {
	p, err := open(t)
	if err != nil {
		return nil // there is no such type, for a test reads all files
	}
	return p.Sections
}

// open reads the prompt file of a type.
func open(t Type) (page, error) {
	var p page
	if !slices.Contains(Types(), t) {
		return p, fault.Errorf(fault.Invalid, "%q is no type of operations", string(t))
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

// check refuses what the model could do nothing with.
func (in Input) check(t Type) error {
	switch {
	case t == Free && strings.TrimSpace(in.Prompt) == "":
		return fault.Errorf(fault.Invalid, "an operation of the type %s needs a prompt", t)
	case t != Free && strings.TrimSpace(in.Document) == "":
		return fault.Errorf(fault.Invalid, "an operation of the type %s needs a document that is not empty", t)
	case !utf8.ValidString(in.Document):
		return fault.Errorf(fault.Invalid, "the document is no text in UTF-8")
	}
	return nil
}

// oneLine keeps a name from ending its line.
func oneLine(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, name))
}
