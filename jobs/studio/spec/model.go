package spec

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
)

// modeler converts schemas to models. A reference to a named schema stays a reference, which avoids most cycles. An unnamed
// schema is expanded, except within itself.
type modeler struct {
	models int
	open   map[*openapi3.Schema]bool
}

// model returns nil for no schema.
func (m *modeler) model(ref *openapi3.SchemaRef) *Model {
	if ref == nil || ref.Value == nil && ref.Ref == "" {
		return nil
	}
	name, named := component(ref.Ref)
	if !named {
		return m.inline(ref)
	}
	m.models++
	to := &Model{Name: name, Ref: name, Type: "any"}
	if ref.Value != nil {
		to.Type = typeOf(ref.Value)
	}
	return to
}

// component returns the name of the component that a reference leads to.
func component(ref string) (string, bool) {
	name, ok := strings.CutPrefix(ref, "#/components/schemas/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return "", false
	}
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name), true
}

// inline expands a schema, whatever its name.
func (m *modeler) inline(ref *openapi3.SchemaRef) *Model {
	m.models++
	if ref == nil || ref.Value == nil || m.models > maxModels {
		return &Model{Type: "any"}
	}
	s := ref.Value
	if m.open[s] {
		return &Model{Type: typeOf(s), Ref: ref.Ref}
	}
	if m.open == nil {
		m.open = map[*openapi3.Schema]bool{}
	}
	m.open[s] = true
	defer delete(m.open, s)
	to := plain(s)
	m.parts(to, s)
	for _, part := range s.AllOf {
		m.merge(to, part)
	}
	return to
}

func plain(s *openapi3.Schema) *Model {
	to := &Model{
		Type: typeOf(s), Format: s.Format, Description: cmp.Or(s.Description, s.Title), Nullable: s.Nullable || s.Type.Includes("null"),
		Deprecated: s.Deprecated, ReadOnly: s.ReadOnly, WriteOnly: s.WriteOnly, Default: value(s.Default), Example: value(s.Example),
		Minimum: s.Min, Maximum: s.Max, MinLength: s.MinLength, MaxLength: s.MaxLength, Pattern: s.Pattern,
		Required: Required{Names: slices.Clone(s.Required)},
	}
	if to.Example == nil && len(s.Examples) > 0 {
		to.Example = value(s.Examples[0])
	}
	for _, v := range s.Enum {
		to.EnumValues = append(to.EnumValues, valueOrNull(v))
	}
	if s.Const != nil {
		to.EnumValues = []jsontext.Value{valueOrNull(s.Const)}
	}
	return to
}

func valueOrNull(v any) jsontext.Value {
	if written := value(v); written != nil {
		return written
	}
	return jsontext.Value("null")
}

func (m *modeler) parts(to *Model, s *openapi3.Schema) {
	for _, name := range sorted(s.Properties) {
		if p := m.model(s.Properties[name]); p != nil {
			to.set(name, p)
		}
	}
	to.Items = m.model(s.Items)
	to.AdditionalProperties = Additional{s.AdditionalProperties.Has, m.model(s.AdditionalProperties.Schema)}
	if to.AdditionalProperties.Model != nil {
		to.AdditionalProperties.Allowed = nil
	}
	for _, ref := range s.OneOf {
		to.OneOf = append(to.OneOf, cmp.Or(m.model(ref), &Model{Type: "any"}))
	}
	for _, ref := range s.AnyOf {
		to.AnyOf = append(to.AnyOf, cmp.Or(m.model(ref), &Model{Type: "any"}))
	}
}

func (to *Model) set(name string, p *Model) {
	if to.Properties == nil {
		to.Properties = map[string]*Model{}
	}
	to.Properties[name] = p
}

// merge merges a part of an allOf. Keys beside the allOf win.
func (m *modeler) merge(to *Model, ref *openapi3.SchemaRef) {
	part := m.inline(ref)
	for name, p := range part.Properties {
		if to.Properties[name] == nil {
			to.set(name, p)
		}
	}
	for _, name := range part.Required.Names {
		if !slices.Contains(to.Required.Names, name) {
			to.Required.Names = append(to.Required.Names, name)
		}
	}
	if to.Type == "any" || to.Type == "" {
		to.Type = part.Type
	}
	to.Format, to.Pattern = cmp.Or(to.Format, part.Format), cmp.Or(to.Pattern, part.Pattern)
	to.Description = cmp.Or(to.Description, part.Description)
	to.Minimum, to.Maximum = cmp.Or(to.Minimum, part.Minimum), cmp.Or(to.Maximum, part.Maximum)
	to.MinLength, to.MaxLength = cmp.Or(to.MinLength, part.MinLength), cmp.Or(to.MaxLength, part.MaxLength)
	to.Items = cmp.Or(to.Items, part.Items)
	to.Nullable = to.Nullable || part.Nullable
	if to.AdditionalProperties.IsZero() {
		to.AdditionalProperties = part.AdditionalProperties
	}
	if to.EnumValues == nil {
		to.EnumValues = part.EnumValues
	}
	if to.Default == nil {
		to.Default = part.Default
	}
	if to.Example == nil {
		to.Example = part.Example
	}
	to.OneOf, to.AnyOf = append(to.OneOf, part.OneOf...), append(to.AnyOf, part.AnyOf...)
}

// typeOf returns the type of a schema, stated or implied by its other keys. Several are joined by "|"; null is expressed by Nullable.
func typeOf(s *openapi3.Schema) string {
	types := slices.DeleteFunc(slices.Clone(s.Type.Slice()), func(t string) bool { return t == "null" })
	switch {
	case len(types) > 0:
		return strings.Join(types, "|")
	case s.Type.Includes("null"):
		return "null"
	case len(s.Properties) > 0 || s.AdditionalProperties.Schema != nil:
		return "object"
	case s.Items != nil:
		return "array"
	case len(s.AllOf) > 0:
		return typeOfParts(s.AllOf)
	case len(s.OneOf) > 0:
		return "oneOf"
	case len(s.AnyOf) > 0:
		return "anyOf"
	}
	return "any"
}

// typeOfParts considers only the parts themselves, so it terminates.
func typeOfParts(parts openapi3.SchemaRefs) string {
	for _, ref := range parts {
		if ref != nil && ref.Value != nil && len(ref.Value.AllOf) == 0 {
			if t := typeOf(ref.Value); t != "any" {
				return t
			}
		}
	}
	return "object"
}
