package spec

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
)

// sdl makes a Spec of GraphQL SDL.
func sdl(text string) (*Spec, error) {
	source := &ast.Source{Input: text}
	if faults := shallow(source); faults != nil {
		return nil, faults
	}
	doc, err := parser.ParseSchemas(validator.Prelude, source)
	if err != nil {
		return nil, graphQLFaults(err)
	}
	spec, faults := schema(doc)
	if faults != nil {
		return nil, faults
	}
	return spec, nil
}

// shallow goes through the tokens first, because the parser calls itself for each level of nesting.
func shallow(source *ast.Source) Faults {
	l := lexer.New(source)
	depth := 0
	for count := 0; ; count++ {
		token, err := l.ReadToken()
		if err != nil {
			return graphQLFaults(err)
		}
		if token.Kind == lexer.EOF {
			return nil
		}
		if slices.Contains([]lexer.Type{lexer.BracketL, lexer.BraceL, lexer.ParenL}, token.Kind) {
			depth++
		} else if slices.Contains([]lexer.Type{lexer.BracketR, lexer.BraceR, lexer.ParenR}, token.Kind) {
			depth--
		}
		if depth > maxDepth || count > maxValues {
			return fault("is too large: more than %d tokens, or nested deeper than %d", maxValues, maxDepth)
		}
	}
}

func graphQLFaults(err error) Faults {
	var known *gqlerror.Error
	if !errors.As(err, &known) {
		return fault("is not GraphQL: %v", err)
	}
	f := Fault{Path: ".", Text: oneLine(known.Message)}
	if len(known.Locations) > 0 {
		f.Line = known.Locations[0].Line
	}
	return Faults{f}
}

// schema makes a Spec of a parsed document.
func schema(doc *ast.SchemaDocument) (*Spec, Faults) {
	withoutForeignDirectives(doc)
	var invalid error
	s, faults := guarded(func() (s *ast.Schema, _ error) {
		s, invalid = validator.ValidateSchemaDocument(doc)
		return s, nil
	})
	switch {
	case faults != nil:
		return nil, faults
	case invalid != nil:
		return nil, graphQLFaults(invalid)
	}
	spec := &Spec{
		Format: GraphQL, Metadata: Metadata{Title: "GraphQL API", Version: "1.0", Description: s.Description}, Models: []*Model{},
		Queries: fields(s.Query, Query), Mutations: fields(s.Mutation, Mutation), Subscriptions: fields(s.Subscription, Subscription),
	}
	for _, d := range doc.Definitions {
		if !d.BuiltIn && d != s.Query && d != s.Mutation && d != s.Subscription {
			spec.Models = append(spec.Models, definition(s, d))
		}
	}
	switch operations := len(spec.Queries) + len(spec.Mutations) + len(spec.Subscriptions); {
	case operations == 0:
		return nil, fault("has no query, no mutation and no subscription")
	case operations > maxEndpoints:
		return nil, fault("is too large: %d queries, mutations and subscriptions are allowed", maxEndpoints)
	}
	return spec, nil
}

// withoutForeignDirectives takes directives away that mean something to a server only, such as those of federation, whose
// definitions do not stand in the description.
func withoutForeignDirectives(doc *ast.SchemaDocument) {
	known := map[string]bool{}
	for _, d := range doc.Directives {
		known[d.Name] = true
	}
	clean := func(list *ast.DirectiveList) {
		*list = slices.DeleteFunc(*list, func(d *ast.Directive) bool { return !known[d.Name] })
	}
	for _, s := range slices.Concat(doc.Schema, doc.SchemaExtension) {
		clean(&s.Directives)
	}
	for _, d := range slices.Concat(doc.Definitions, doc.Extensions) {
		clean(&d.Directives)
		for _, f := range d.Fields {
			clean(&f.Directives)
			for _, a := range f.Arguments {
				clean(&a.Directives)
			}
		}
		for _, v := range d.EnumValues {
			clean(&v.Directives)
		}
	}
}

func fields(d *ast.Definition, kind string) []*Field {
	if d == nil {
		return nil
	}
	var list []*Field
	for _, f := range d.Fields {
		if len(f.Name) > 1 && f.Name[:2] == "__" {
			continue // what every server has
		}
		list = append(list, &Field{
			Name: f.Name, Type: kind, Description: f.Description, Args: arguments(f.Arguments),
			ReturnType: Type{Name: f.Type.String()}, Deprecated: deprecated(f.Directives),
		})
	}
	return list
}

func arguments(list ast.ArgumentDefinitionList) []*Arg {
	args := []*Arg{}
	for _, a := range list {
		args = append(args, &Arg{
			Name: a.Name, Type: Type{Name: a.Type.String()}, Required: a.Type.NonNull && a.DefaultValue == nil,
			Description: a.Description, DefaultValue: constant(a.DefaultValue), Deprecated: deprecated(a.Directives),
		})
	}
	return args
}

// constant is a default value as JSON if that can be, else as it is written in GraphQL.
func constant(v *ast.Value) jsontext.Value {
	if v == nil {
		return nil
	}
	if plain, err := v.Value(nil); err == nil {
		return valueOrNull(plain)
	}
	return value(v.String())
}

func deprecated(list ast.DirectiveList) bool { return list.ForName("deprecated") != nil }

func definition(s *ast.Schema, d *ast.Definition) *Model {
	m := &Model{Name: d.Name, Type: kindOf(d.Kind), Description: d.Description, Interfaces: d.Interfaces}
	if d.IsAbstractType() {
		for _, p := range s.GetPossibleTypes(d) {
			m.PossibleTypes = append(m.PossibleTypes, p.Name)
		}
	}
	for _, v := range d.EnumValues {
		m.EnumValues = append(m.EnumValues, value(v.Name))
	}
	for _, f := range d.Fields {
		p := &Model{Type: f.Type.String(), Description: f.Description, Deprecated: deprecated(f.Directives), Default: constant(f.DefaultValue)}
		if len(f.Arguments) > 0 {
			p.Args = arguments(f.Arguments)
		}
		if name := f.Type.Name(); s.Types[name] != nil && !s.Types[name].BuiltIn {
			p.Ref = name
		}
		m.put(f.Name, p)
		if f.Type.NonNull && f.DefaultValue == nil {
			m.Required.Names = append(m.Required.Names, f.Name)
		}
	}
	return m
}

func kindOf(kind ast.DefinitionKind) string {
	if kind == ast.InputObject {
		return "input"
	}
	return strings.ToLower(string(kind))
}
