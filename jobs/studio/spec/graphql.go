package spec

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
)

// sdl reads GraphQL SDL.
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

// shallow checks the limits before parsing, because the parser recurses for each level of nesting.
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
		switch token.Kind { //nolint:exhaustive // the others do not nest
		case lexer.BracketL, lexer.BraceL, lexer.ParenL:
			depth++
		case lexer.BracketR, lexer.BraceR, lexer.ParenR:
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

// schema validates and reads a parsed document.
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

// withoutForeignDirectives removes directives that the description does not define, such as those of federation: they concern
// servers only.
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
			continue // every server has it
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

// constant returns a default value as JSON if possible, otherwise as GraphQL.
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
	m := &Model{Name: d.Name, Type: strings.ToLower(strings.TrimSuffix(string(d.Kind), "_OBJECT")), Description: d.Description, Interfaces: d.Interfaces}
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
		m.set(f.Name, p)
		if f.Type.NonNull && f.DefaultValue == nil {
			m.Required.Names = append(m.Required.Names, f.Name)
		}
	}
	return m
}

// The result of the introspection query, in part.
type (
	introspected struct {
		QueryType, MutationType, SubscriptionType *struct {
			Name string `json:"name"`
		}
		Types []introspectedType `json:"types"`
	}
	introspectedType struct {
		Kind          string              `json:"kind"`
		Name          string              `json:"name"`
		Description   string              `json:"description"`
		Fields        []introspectedField `json:"fields"`
		InputFields   []introspectedField `json:"inputFields"`
		Interfaces    []introspectedRef   `json:"interfaces"`
		PossibleTypes []introspectedRef   `json:"possibleTypes"`
		EnumValues    []introspectedField `json:"enumValues"`
	}
	introspectedField struct {
		Name         string              `json:"name"`
		Description  string              `json:"description"`
		Args         []introspectedField `json:"args"`
		Type         *introspectedRef    `json:"type"`
		DefaultValue *string             `json:"defaultValue"`
		IsDeprecated bool                `json:"isDeprecated"`
	}
	introspectedRef struct {
		Kind   string           `json:"kind"`
		Name   string           `json:"name"`
		OfType *introspectedRef `json:"ofType"`
	}
)

// introspection reads the result of an introspection query by converting it to a document.
func introspection(raw jsontext.Value) (*Spec, Faults) {
	var in introspected
	if err := json.Unmarshal(raw, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, fault("is not an introspection result: %v", err)
	}
	doc, err := parser.ParseSchemas(validator.Prelude)
	if err != nil {
		return nil, graphQLFaults(err)
	}
	builtIn := map[string]bool{}
	for _, d := range doc.Definitions {
		builtIn[d.Name] = true
	}
	at := &ast.Position{Src: &ast.Source{}}
	root := &ast.SchemaDefinition{Position: at}
	for operation, named := range map[ast.Operation]*struct {
		Name string `json:"name"`
	}{ast.Query: in.QueryType, ast.Mutation: in.MutationType, ast.Subscription: in.SubscriptionType} {
		if named != nil {
			root.OperationTypes = append(root.OperationTypes, &ast.OperationTypeDefinition{Operation: operation, Type: named.Name, Position: at})
		}
	}
	doc.Schema = append(doc.Schema, root)
	for _, t := range in.Types {
		if !builtIn[t.Name] && !strings.HasPrefix(t.Name, "__") {
			doc.Definitions = append(doc.Definitions, t.definition(at))
		}
	}
	return schema(doc)
}

func (t introspectedType) definition(at *ast.Position) *ast.Definition {
	d := &ast.Definition{Kind: ast.DefinitionKind(t.Kind), Name: t.Name, Description: t.Description, Position: at}
	fields := t.Fields
	if d.Kind == ast.InputObject {
		fields = t.InputFields
	}
	for _, f := range fields {
		to := &ast.FieldDefinition{Name: f.Name, Description: f.Description, Type: f.Type.astType(at), DefaultValue: f.value(at), Directives: f.directives(at), Position: at}
		for _, a := range f.Args {
			to.Arguments = append(to.Arguments, &ast.ArgumentDefinition{Name: a.Name, Description: a.Description, Type: a.Type.astType(at), DefaultValue: a.value(at), Position: at})
		}
		d.Fields = append(d.Fields, to)
	}
	for _, v := range t.EnumValues {
		d.EnumValues = append(d.EnumValues, &ast.EnumValueDefinition{Name: v.Name, Description: v.Description, Directives: v.directives(at), Position: at})
	}
	for _, i := range t.Interfaces {
		d.Interfaces = append(d.Interfaces, i.Name)
	}
	if d.Kind == ast.Union {
		for _, p := range t.PossibleTypes {
			d.Types = append(d.Types, p.Name)
		}
	}
	return d
}

func (r *introspectedRef) astType(at *ast.Position) *ast.Type {
	switch {
	case r == nil:
		return ast.NamedType("nothing", at) // undefined in any description
	case r.Kind == "NON_NULL":
		t := *r.OfType.astType(at)
		t.NonNull = true
		return &t
	case r.Kind == "LIST":
		return ast.ListType(r.OfType.astType(at), at)
	}
	return ast.NamedType(cmp.Or(r.Name, "nothing"), at)
}

// value parses a default value, which is GraphQL in a string.
func (f introspectedField) value(at *ast.Position) *ast.Value {
	if f.DefaultValue == nil {
		return nil
	}
	source := &ast.Source{Input: "input A { a: A = " + *f.DefaultValue + " }"}
	if shallow(source) == nil {
		if doc, err := parser.ParseSchema(source); err == nil && len(doc.Definitions) == 1 && len(doc.Definitions[0].Fields) == 1 {
			return doc.Definitions[0].Fields[0].DefaultValue
		}
	}
	return &ast.Value{Raw: *f.DefaultValue, Kind: ast.EnumValue, Position: at}
}

func (f introspectedField) directives(at *ast.Position) ast.DirectiveList {
	if !f.IsDeprecated {
		return nil
	}
	return ast.DirectiveList{{Name: "deprecated", Position: at}}
}
