package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// openAPI reads OpenAPI 3. It validates no more than necessary, because many descriptions in use have small faults.
func openAPI(raw []byte) (*Spec, Faults) {
	doc, faults := guarded(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(raw) })
	if faults != nil {
		return nil, faults
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.") {
		return nil, Faults{{"openapi", 0, fmt.Sprintf("%q is not supported; use 3.0, 3.1 or 3.2", oneLine(doc.OpenAPI))}}
	}
	n := &normalizer{doc: doc, format: OpenAPI3, paths: keys(raw, "paths"), schemas: keys(raw, "components", "schemas")}
	return n.spec()
}

// swagger reads Swagger 2 by converting it to OpenAPI 3.
func swagger(raw []byte) (*Spec, Faults) {
	var old openapi2.T
	doc, faults := guarded(func() (*openapi3.T, error) {
		if err := json.Unmarshal(raw, &old); err != nil {
			return nil, err
		}
		return openapi2conv.ToV3(&old)
	})
	if faults != nil {
		return nil, faults
	}
	if !strings.HasPrefix(old.Swagger, "2.") {
		return nil, Faults{{"swagger", 0, fmt.Sprintf("%q is not supported; use 2.0", oneLine(old.Swagger))}}
	}
	if len(doc.Servers) == 0 && old.BasePath != "" {
		doc.Servers = openapi3.Servers{{URL: old.BasePath}}
	}
	n := &normalizer{doc: doc, format: Swagger2, paths: keys(raw, "paths"), schemas: keys(raw, "definitions")}
	return n.spec()
}

// guarded calls a library, which may panic on an unexpected description.
func guarded[T any](read func() (T, error)) (result T, faults Faults) {
	defer func() {
		if r := recover(); r != nil {
			faults = fault("cannot be read: %v", r)
		}
	}()
	result, err := read()
	if err != nil {
		return result, fault("cannot be read: %v", err)
	}
	return result, nil
}

// normalizer converts a description with resolved references.
type normalizer struct {
	doc            *openapi3.T
	format         string
	paths, schemas []string // in the order of the file
	modeler
	faults Faults
}

func (n *normalizer) spec() (*Spec, Faults) {
	s := &Spec{Format: n.format, Metadata: n.metadata(), Models: []*Model{}}
	for _, path := range ordered(n.doc.Paths.Map(), n.paths) {
		n.endpoints(s, path, n.doc.Paths.Value(path))
	}
	if c := n.doc.Components; c != nil {
		for _, name := range ordered(c.Schemas, n.schemas) {
			m := n.inline(c.Schemas[name])
			m.Name = name
			s.Models = append(s.Models, m)
		}
		s.SecuritySchemes = schemes(c.SecuritySchemes)
	}
	for _, tag := range n.doc.Tags {
		if tag != nil && tag.Name != "" {
			s.Tags = append(s.Tags, Tag{Name: tag.Name, Description: tag.Description})
		}
	}
	if n.models > maxModels || len(s.Endpoints) > maxEndpoints {
		n.faults = append(n.faults, fault("is too large: %d endpoints and %d models with those in them are allowed", maxEndpoints, maxModels)...)
	}
	return s, n.faults
}

func (n *normalizer) metadata() Metadata {
	var m Metadata
	if info := n.doc.Info; info != nil {
		m = Metadata{Title: info.Title, Version: info.Version, Description: info.Description}
	}
	for key, value := range map[string]string{"info.title": m.Title, "info.version": m.Version} {
		if value == "" {
			n.faults = append(n.faults, Fault{Path: key, Text: "is missing"})
		}
	}
	slices.SortFunc(n.faults, func(a, b Fault) int { return strings.Compare(a.Path, b.Path) })
	m.BaseURL = baseURL(n.doc.Servers)
	return m
}

// baseURL returns the URL of the first server, with the defaults of its variables.
func baseURL(servers openapi3.Servers) string {
	if len(servers) == 0 || servers[0] == nil {
		return ""
	}
	url := servers[0].URL
	for name, v := range servers[0].Variables {
		if v != nil && v.Default != "" {
			url = strings.ReplaceAll(url, "{"+name+"}", v.Default)
		}
	}
	return url
}

// ordered returns the keys of a map in the order of the file.
func ordered[V any](m map[string]V, order []string) []string {
	position := map[string]int{}
	for i, name := range order {
		position[name] = i + 1
	}
	names := sorted(m)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(position[a], position[b]) })
	return names
}

func (n *normalizer) endpoints(s *Spec, path string, item *openapi3.PathItem) {
	if item == nil {
		return
	}
	operations := item.Operations()
	for _, method := range ordered(operations, []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "QUERY"}) {
		o := operations[method]
		if o == nil {
			continue
		}
		servers := item.Servers
		if o.Servers != nil {
			servers = *o.Servers
		}
		e := &Endpoint{
			Path: path, BaseURL: baseURL(servers), Method: method, OperationID: o.OperationID, Summary: cmp.Or(o.Summary, item.Summary),
			Description: cmp.Or(o.Description, item.Description), Deprecated: o.Deprecated,
			Parameters: n.parameters(o.Parameters, item.Parameters), Responses: map[string]*Response{},
		}
		if len(o.Tags) > 0 {
			e.Tag = o.Tags[0]
		}
		n.body(e, o.RequestBody)
		n.responses(e, o.Responses)
		e.SecurityRequirements = requirements(o.Security, n.doc.Security)
		s.Endpoints = append(s.Endpoints, e)
	}
}

// parameters returns those of the operation, and those of its path that it does not redefine.
func (n *normalizer) parameters(own, shared openapi3.Parameters) []*Parameter {
	all := []*Parameter{}
	seen := map[[2]string]bool{}
	for _, ref := range slices.Concat(own, shared) {
		if ref == nil || ref.Value == nil || seen[[2]string{ref.Value.In, ref.Value.Name}] {
			continue
		}
		p := ref.Value
		seen[[2]string{p.In, p.Name}] = true
		to := &Parameter{
			Name: p.Name, In: p.In, Required: p.Required, Description: p.Description, Deprecated: p.Deprecated, Style: p.Style,
			Explode: p.Explode, Example: value(p.Example), Type: "any",
		}
		schema := p.Schema
		if schema == nil {
			_, schema, _ = n.content(p.Content)
		}
		if to.Schema = n.model(schema); to.Schema != nil {
			to.Type = to.Schema.Type
		}
		all = append(all, to)
	}
	return all
}

func (n *normalizer) body(e *Endpoint, ref *openapi3.RequestBodyRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	contentType, schema, example := n.content(ref.Value.Content)
	e.RequestBody = &Body{Description: ref.Value.Description, Required: ref.Value.Required, ContentType: contentType, Schema: n.model(schema), Example: example}
	if len(ref.Value.Content) > 1 {
		e.RequestBody.ContentTypes = sorted(ref.Value.Content)
	}
}

func (n *normalizer) responses(e *Endpoint, responses *openapi3.Responses) {
	if responses == nil {
		return
	}
	for _, code := range sorted(responses.Map()) {
		ref := responses.Value(code)
		if ref == nil || ref.Value == nil {
			continue
		}
		r := &Response{StatusCode: Code(code)}
		if ref.Value.Description != nil {
			r.Description = *ref.Value.Description
		}
		contentType, schema, _ := n.content(ref.Value.Content)
		if contentType != "application/json" {
			r.ContentType = contentType
		}
		r.Schema = n.model(schema)
		e.Responses[code] = r
	}
}

// content selects JSON if available, otherwise the first type.
func (n *normalizer) content(content openapi3.Content) (contentType string, schema *openapi3.SchemaRef, example jsontext.Value) {
	types := sorted(content)
	isJSON := func(t string) bool {
		kind, _, _ := strings.Cut(strings.ToLower(t), ";")
		return strings.HasSuffix(kind, "json")
	}
	switch at := slices.IndexFunc(types, isJSON); {
	case slices.Contains(types, "application/json"):
		contentType = "application/json"
	case at >= 0:
		contentType = types[at]
	case len(types) > 0:
		contentType = types[0]
	}
	if media := content[contentType]; media != nil {
		return contentType, media.Schema, value(media.Example)
	}
	return contentType, nil, nil
}

func requirements(own *openapi3.SecurityRequirements, general openapi3.SecurityRequirements) []jsontext.Value {
	if own != nil {
		general = *own
	} else if general == nil {
		return nil
	}
	list := []jsontext.Value{}
	for _, r := range general {
		list = append(list, value(r))
	}
	return list
}

func schemes(all openapi3.SecuritySchemes) []SecurityScheme {
	var list []SecurityScheme
	for _, name := range sorted(all) {
		if all[name] == nil || all[name].Value == nil {
			continue
		}
		v := all[name].Value
		s := SecurityScheme{
			Name: name, Type: v.Type, Description: v.Description, In: v.In, Parameter: v.Name, Scheme: v.Scheme,
			BearerFormat: v.BearerFormat, OpenIDConnectURL: v.OpenIdConnectUrl,
		}
		if v.Flows != nil {
			s.Flows = value(v.Flows)
		}
		list = append(list, s)
	}
	return list
}

// value encodes data of a description; nil for none.
func value(v any) jsontext.Value {
	if v == nil {
		return nil
	}
	written, err := json.Marshal(v, json.Deterministic(true))
	if err != nil || string(written) == "null" {
		return nil
	}
	return written
}
