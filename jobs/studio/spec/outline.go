package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Outline describes the API in short lines, for a prompt: everything needed to call it, and the start of each
// description. `!` marks required values.
func (s *Spec) Outline() string {
	var o outline
	o.line("# %s %s (%s)", s.Metadata.Title, s.Metadata.Version, s.Format)
	o.about("", s.Metadata.Description, 1000)
	if s.Metadata.BaseURL != "" {
		o.line("base URL: %s", s.Metadata.BaseURL)
	}
	for _, scheme := range s.SecuritySchemes {
		o.line("auth %s: %s", scheme.Name, words(scheme.Type, scheme.Scheme, scheme.In, scheme.Parameter, scheme.BearerFormat))
	}
	for _, tag := range s.Tags {
		o.line("tag %s%s", tag.Name, after(": ", tag.Description))
	}
	o.line("\n## Operations")
	for op := range s.Operations() {
		if f := op.Field; f != nil {
			o.line("%s%s: %s%s%s", op.ID, arglist(f.Args), f.ReturnType, deprecation(f.Deprecated), after(" // ", f.Description))
			continue
		}
		o.endpoint(op)
	}
	if len(s.Models) > 0 {
		o.line("\n## Models")
	}
	for _, m := range s.Models {
		o.line("%s%s: %s%s", m.Name, mark(m.Required.Self), describe(m, 0), after(" // ", m.Description))
	}
	return o.String()
}

type outline struct{ strings.Builder }

func (o *outline) line(format string, args ...any) {
	_, _ = fmt.Fprintf(o, format+"\n", args...)
}

func (o *outline) about(indent, text string, limit int) {
	if text = short(text, limit); text != "" {
		o.line("%s%s", indent, text)
	}
}

func (o *outline) endpoint(op Operation) {
	e := op.Endpoint
	head := op.ID
	if op.Title != head {
		head += " — " + short(op.Title, 200)
	}
	o.line("%s%s%s", head, after(" #", e.Tag), deprecation(e.Deprecated))
	if e.Description != e.Summary {
		o.about("  ", e.Description, 200)
	}
	if e.BaseURL != "" {
		o.line("  base URL: %s", e.BaseURL)
	}
	for _, p := range e.Parameters {
		kind := p.Type
		if p.Schema != nil {
			kind = describe(p.Schema, 0) + after(" = ", data(p.Schema.Default))
		}
		o.line("  %s %s%s: %s%s%s", p.In, p.Name, mark(p.Required), kind, deprecation(p.Deprecated), after(" // ", p.Description))
	}
	if b := e.RequestBody; b != nil {
		o.line("  body%s: %s%s", mark(b.Required), words(b.ContentType, describe(b.Schema, 0)), after(" // ", b.Description))
	}
	for _, code := range sorted(e.Responses) {
		if r := e.Responses[code]; r != nil {
			kind := words(r.ContentType, describe(r.Schema, 0))
			o.line("  → %s%s%s", code, textIf(kind != "", ": "+kind), after(" // ", r.Description))
		}
	}
	if len(e.SecurityRequirements) > 0 {
		var names []string
		for _, r := range e.SecurityRequirements {
			names = append(names, requirement(r))
		}
		o.line("  needs %s", strings.Join(names, " or "))
	}
}

// requirement lists the schemes that are required together, with their scopes: oauth(photos.read) + key.
func requirement(r jsontext.Value) string {
	var schemes map[string][]string
	if json.Unmarshal(r, &schemes) != nil {
		return data(r)
	}
	var parts []string
	for _, name := range sorted(schemes) {
		if scopes := strings.Join(schemes[name], ", "); scopes != "" {
			name += "(" + scopes + ")"
		}
		parts = append(parts, name)
	}
	return cmp.Or(strings.Join(parts, " + "), "nothing")
}

// data formats a value with as few escapes as possible.
func data(v jsontext.Value) string {
	written := v.Clone()
	if written.Format(jsontext.PreserveRawStrings(false)) != nil {
		return string(v)
	}
	return string(written)
}

func arglist(args []*Arg) string {
	var parts []string
	for _, a := range args {
		parts = append(parts, a.Name+": "+a.Type.String()+after(" = ", data(a.DefaultValue)))
	}
	return textIf(len(args) > 0, "("+strings.Join(parts, ", ")+")")
}

// String returns the name, or the outline of the model.
func (t Type) String() string {
	if t.Model != nil {
		return describe(t.Model, 0)
	}
	return t.Name
}

// describe returns a model on one line.
func describe(m *Model, depth int) string {
	const maxLevel = 4
	switch {
	case m == nil:
		return ""
	case m.Ref != "":
		if strings.HasPrefix(m.Type, "[") || strings.TrimSuffix(m.Type, "!") == m.Ref {
			return m.Type // in GraphQL notation, which is more precise
		}
		return m.Ref
	case len(m.EnumValues) > 0:
		return m.Type + " " + choices(m.EnumValues)
	case len(m.PossibleTypes) > 0 && len(m.Properties) == 0:
		return strings.Join(m.PossibleTypes, " | ")
	case m.Items != nil:
		return "[" + describe(m.Items, depth+1) + "]"
	case depth > maxLevel:
		return "…"
	}
	text := m.Type
	if parts := members(m, depth); len(parts) > 0 {
		text = strings.TrimPrefix(m.Type+" ", "object ") + "{" + strings.Join(parts, ", ") + "}"
	}
	text += after(" ", m.Format) + alternatives("oneOf", m.OneOf, depth) + alternatives("anyOf", m.AnyOf, depth)
	text = strings.TrimPrefix(strings.TrimPrefix(text, "oneOf "), "anyOf ") // if it is also the type
	return text + span(m)
}

func members(m *Model, depth int) []string {
	var parts []string
	for _, name := range sorted(m.Properties) {
		if p := m.Properties[name]; p != nil {
			required := slices.Contains(m.Required.Names, name) || p.Required.Self
			parts = append(parts, name+arglist(p.Args)+mark(required)+": "+describe(p, depth+1)+attributes(p))
		}
	}
	if additional := m.AdditionalProperties.Model; additional != nil {
		parts = append(parts, "…: "+describe(additional, depth+1))
	}
	return parts
}

// span returns the range of a number.
func span(m *Model) string {
	switch {
	case m.Minimum != nil && m.Maximum != nil:
		return fmt.Sprintf(" %v..%v", *m.Minimum, *m.Maximum)
	case m.Minimum != nil:
		return fmt.Sprintf(" ≥ %v", *m.Minimum)
	case m.Maximum != nil:
		return fmt.Sprintf(" ≤ %v", *m.Maximum)
	}
	return ""
}

func alternatives(word string, list []*Model, depth int) string {
	var parts []string
	for _, m := range list {
		parts = append(parts, describe(m, depth+1))
	}
	return textIf(len(parts) > 0, " "+word+" ("+strings.Join(parts, " | ")+")")
}

// choices lists values, at most 30.
func choices(values []jsontext.Value) string {
	const limit = 30
	var parts []string
	for _, v := range values[:min(len(values), limit)] {
		parts = append(parts, strings.Trim(data(v), `"`))
	}
	if len(values) > limit {
		parts = append(parts, "…")
	}
	return strings.Join(parts, "|")
}

func attributes(m *Model) string {
	access := textIf(m.ReadOnly, " read-only") + textIf(m.WriteOnly && !m.ReadOnly, " write-only")
	return after(" = ", data(m.Default)) + access + deprecation(m.Deprecated)
}

func mark(required bool) string { return textIf(required, "!") }

func deprecation(is bool) string { return textIf(is, " (deprecated)") }

func textIf(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// after returns the start of a text after a separator, or "" for no text.
func after(separator, text string) string {
	const limit = 120
	text = short(text, limit)
	return textIf(text != "", separator+text)
}

func words(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), " ")
}

// short returns the start of a text, on one line.
func short(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return text
}
