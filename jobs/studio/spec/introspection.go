package spec

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
)

// The result of the introspection query, as far as it is used.
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

// introspection makes a Spec of what a server says about itself, by way of the document that this was made of.
func introspection(raw jsontext.Value) (*Spec, Faults) {
	var in introspected
	if err := json.Unmarshal(raw, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, fault("is no result of an introspection: %v", err)
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
		return ast.NamedType("nothing", at) // which no description defines
	case r.Kind == "NON_NULL":
		t := *r.OfType.astType(at)
		t.NonNull = true
		return &t
	case r.Kind == "LIST":
		return ast.ListType(r.OfType.astType(at), at)
	}
	return ast.NamedType(cmp.Or(r.Name, "nothing"), at)
}

// value reads a default value, which stands in it as GraphQL.
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
