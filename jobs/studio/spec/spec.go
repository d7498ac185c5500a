// Package spec reads descriptions of APIs: OpenAPI 3, Swagger 2, GraphQL, and the NormalizedSpec that represents them all
// (spec/contracts/cli-protocol.notes.md, "As the CLI"; spec/studio.md). It does no I/O, so a
// description that refers to another one is a fault.
package spec

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The formats of descriptions.
const (
	OpenAPI3 = "openapi3"
	Swagger2 = "swagger2"
	GraphQL  = "graphql"
)

// Spec is a NormalizedSpec. Unknown keys are kept in Extra. It is immutable after it was read, and may be
// read concurrently.
type Spec struct {
	Format          string           `json:"format"`
	Metadata        Metadata         `json:"metadata"`
	Endpoints       []*Endpoint      `json:"endpoints,omitempty"`
	Queries         []*Field         `json:"queries,omitempty"`
	Mutations       []*Field         `json:"mutations,omitempty"`
	Subscriptions   []*Field         `json:"subscriptions,omitempty"`
	Models          []*Model         `json:"models"`
	SecuritySchemes []SecurityScheme `json:"securitySchemes,omitempty"`
	Tags            []Tag            `json:"tags,omitempty"`
	Extra           Extra            `json:",unknown"`
}

// Extra holds unknown keys.
type Extra map[string]jsontext.Value

// MarshalJSON is deterministic.
func (s *Spec) MarshalJSON() ([]byte, error) {
	type plain Spec
	return json.Marshal((*plain)(s), json.Deterministic(true))
}

// Metadata describes the API as a whole.
type Metadata struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	BaseURL     string `json:"baseUrl,omitempty"`
	Extra       Extra  `json:",unknown"`
}

// Endpoint is a path and a method.
type Endpoint struct {
	Path string `json:"path"`
	// Method is spelled as in the description; compare it case-insensitively.
	Method      string       `json:"method"`
	OperationID string       `json:"operationId,omitempty"`
	Summary     string       `json:"summary,omitempty"`
	Description string       `json:"description,omitempty"`
	Tag         string       `json:"tag,omitempty"`
	BaseURL     string       `json:"baseUrl,omitempty"` // if it differs from that of the API
	Parameters  []*Parameter `json:"parameters"`
	RequestBody *Body        `json:"requestBody,omitempty"`
	// Responses are keyed by status code, including "4XX" and "default".
	Responses map[string]*Response `json:"responses"`
	// SecurityRequirements are alternatives; each maps the names of schemes to scopes, as in OpenAPI. An empty list, unlike nil,
	// means that nothing is required.
	SecurityRequirements []jsontext.Value `json:"securityRequirements,omitzero"`
	Deprecated           bool             `json:"deprecated,omitzero"`
	Extra                Extra            `json:",unknown"`
}

// Parameter is a parameter of an endpoint.
type Parameter struct {
	Name        string         `json:"name"`
	In          string         `json:"in"`
	Type        string         `json:"type"`
	Required    bool           `json:"required"`
	Description string         `json:"description,omitempty"`
	Deprecated  bool           `json:"deprecated,omitzero"`
	Style       string         `json:"style,omitempty"`
	Explode     *bool          `json:"explode,omitempty"`
	Example     jsontext.Value `json:"example,omitzero"`
	Schema      *Model         `json:"schema,omitempty"`
	Extra       Extra          `json:",unknown"`
}

// Body is the body of a request.
type Body struct {
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	ContentType string `json:"contentType,omitempty"`
	// ContentTypes are all accepted types if there are several.
	ContentTypes []string       `json:"contentTypes,omitempty"`
	Schema       *Model         `json:"schema,omitempty"`
	Example      jsontext.Value `json:"example,omitzero"`
	Extra        Extra          `json:",unknown"`
}

// Response is a response of an endpoint.
type Response struct {
	StatusCode  Code   `json:"statusCode"`
	Description string `json:"description"`
	ContentType string `json:"contentType,omitempty"` // if it is not JSON
	Schema      *Model `json:"schema,omitempty"`
	Extra       Extra  `json:",unknown"`
}

// Field is a query, mutation or subscription. ReturnType is in GraphQL notation, such as "[Film!]!".
type Field struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Args        []*Arg `json:"args"`
	ReturnType  Type   `json:"returnType"`
	Deprecated  bool   `json:"deprecated,omitzero"`
	Extra       Extra  `json:",unknown"`
}

// Arg is an argument of a Field.
type Arg struct {
	Name         string         `json:"name"`
	Type         Type           `json:"type"`
	Required     bool           `json:"required"`
	Description  string         `json:"description,omitempty"`
	DefaultValue jsontext.Value `json:"defaultValue,omitzero"`
	Deprecated   bool           `json:"deprecated,omitzero"`
	Extra        Extra          `json:",unknown"`
}

// Model is a type of values, named or not. With Ref, it refers to the model of that name in the Spec, and Type is the
// type of that model.
type Model struct {
	Name                 string            `json:"name,omitempty"`
	Type                 string            `json:"type,omitempty"`
	Ref                  string            `json:"ref,omitempty"`
	Format               string            `json:"format,omitempty"`
	Description          string            `json:"description,omitempty"`
	Nullable             bool              `json:"nullable,omitzero"`
	Deprecated           bool              `json:"deprecated,omitzero"`
	ReadOnly             bool              `json:"readOnly,omitzero"`
	WriteOnly            bool              `json:"writeOnly,omitzero"`
	Properties           map[string]*Model `json:"properties,omitempty"`
	AdditionalProperties Additional        `json:"additionalProperties,omitzero"`
	Items                *Model            `json:"items,omitempty"`
	Required             Required          `json:"required,omitzero"`
	EnumValues           []jsontext.Value  `json:"enumValues,omitempty"`
	Default              jsontext.Value    `json:"default,omitzero"`
	Example              jsontext.Value    `json:"example,omitzero"`
	Minimum              *float64          `json:"minimum,omitempty"`
	Maximum              *float64          `json:"maximum,omitempty"`
	MinLength            uint64            `json:"minLength,omitzero"`
	MaxLength            *uint64           `json:"maxLength,omitempty"`
	Pattern              string            `json:"pattern,omitempty"`
	OneOf                []*Model          `json:"oneOf,omitempty"`
	AnyOf                []*Model          `json:"anyOf,omitempty"`
	Interfaces           []string          `json:"interfaces,omitempty"`
	PossibleTypes        []string          `json:"possibleTypes,omitempty"`
	Args                 []*Arg            `json:"args,omitempty"` // of a property of a GraphQL type
	Extra                Extra             `json:",unknown"`
}

// SecurityScheme is a way to authenticate. A map of them is read as a list.
type SecurityScheme struct {
	// Name is the name that requirements use.
	Name         string `json:"name"`
	Type         string `json:"type,omitempty"`
	Description  string `json:"description,omitempty"`
	In           string `json:"in,omitempty"`
	Parameter    string `json:"parameter,omitempty"` // the header, query parameter or cookie of an API key
	Scheme       string `json:"scheme,omitempty"`
	BearerFormat string `json:"bearerFormat,omitempty"`
	// Flows are those of OAuth 2 in the format of OpenAPI 3.
	Flows            jsontext.Value `json:"flows,omitzero"`
	OpenIDConnectURL string         `json:"openIdConnectUrl,omitempty"`
	Extra            Extra          `json:",unknown"`
}

// Tag is a group of endpoints. A string is read as its name.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Extra       Extra  `json:",unknown"`
}

// Code is a status code, written as text or as a number.
type Code string

// UnmarshalJSON accepts text and numbers.
func (c *Code) UnmarshalJSON(data []byte) error {
	if value := jsontext.Value(data); value.Kind() == '0' {
		*c = Code(value)
		return nil
	}
	return json.Unmarshal(data, (*string)(c))
}

// Type is the name of a type, or a model.
type Type struct {
	Name  string
	Model *Model
}

// MarshalJSON encodes the model, otherwise the name.
func (t Type) MarshalJSON() ([]byte, error) {
	if t.Model != nil {
		return json.Marshal(t.Model, json.Deterministic(true))
	}
	return json.Marshal(t.Name)
}

// UnmarshalJSON accepts a name or a model.
func (t *Type) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '{' {
		return json.Unmarshal(data, &t.Model)
	}
	return json.Unmarshal(data, &t.Name)
}

// Required names the required properties, or states that the value itself is required.
type Required struct {
	Names []string
	Self  bool
}

// IsZero reports whether nothing is required.
func (r Required) IsZero() bool { return len(r.Names) == 0 && !r.Self }

// MarshalJSON encodes the names, otherwise the boolean.
func (r Required) MarshalJSON() ([]byte, error) {
	if len(r.Names) > 0 {
		return json.Marshal(r.Names)
	}
	return json.Marshal(r.Self)
}

// UnmarshalJSON accepts true, false or a list of names.
func (r *Required) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '[' {
		return json.Unmarshal(data, &r.Names)
	}
	return json.Unmarshal(data, &r.Self)
}

// Additional states whether an object may have other properties, and their model if known.
type Additional struct {
	Allowed *bool
	Model   *Model
}

// IsZero reports whether nothing is stated.
func (a Additional) IsZero() bool { return a.Allowed == nil && a.Model == nil }

// MarshalJSON encodes the model, otherwise the boolean.
func (a Additional) MarshalJSON() ([]byte, error) {
	if a.Model != nil {
		return json.Marshal(a.Model, json.Deterministic(true))
	}
	return json.Marshal(a.Allowed)
}

// UnmarshalJSON accepts true, false or a model.
func (a *Additional) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '{' {
		return json.Unmarshal(data, &a.Model)
	}
	return json.Unmarshal(data, &a.Allowed)
}

// UnmarshalJSON also accepts a name.
func (t *Tag) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '"' {
		return json.Unmarshal(data, &t.Name)
	}
	type plain Tag
	return json.Unmarshal(data, (*plain)(t))
}

// UnmarshalJSON also accepts a model as the schema of a body: an object without schema, but with keys of a model or names in
// required. normalized.schema.json has the same rule.
func (b *Body) UnmarshalJSON(data []byte) error {
	type plain Body
	if !bodyIsModel(data) {
		return json.Unmarshal(data, (*plain)(b))
	}
	var media struct {
		ContentType  string   `json:"contentType"`
		ContentTypes []string `json:"contentTypes"`
	}
	var m Model
	if err := errors.Join(json.Unmarshal(data, &media), json.Unmarshal(data, &m)); err != nil {
		return err
	}
	for _, key := range []string{"schema", "contentType", "contentTypes"} {
		delete(m.Extra, key)
	}
	*b = Body{Description: m.Description, Required: !m.Required.IsZero(), ContentType: media.ContentType, ContentTypes: media.ContentTypes, Schema: &m}
	return nil
}

func bodyIsModel(data []byte) bool {
	var keys map[string]jsontext.Value
	if json.Unmarshal(data, &keys) != nil || keys["schema"].Kind() == '{' {
		return false
	}
	for _, key := range []string{"name", "type", "ref", "format", "properties", "items", "additionalProperties", "enumValues", "oneOf", "anyOf"} {
		if keys[key] != nil {
			return true
		}
	}
	return keys["required"].Kind() == '['
}

// The kinds of operations, and the Type of fields.
const (
	Query        = "query"
	Mutation     = "mutation"
	Subscription = "subscription"
)

// Operation is an endpoint, or a query, mutation or subscription.
type Operation struct {
	// ID is "GET /pets/{id}" or "query pets": unique in a description and stable.
	ID string
	// Title is for users: the summary if there is one.
	Title string

	Endpoint *Endpoint // nil if Field is set
	Field    *Field
}

// Operations yields all operations in the order of the description.
func (s *Spec) Operations() iter.Seq[Operation] {
	return func(yield func(Operation) bool) {
		seen := map[string]int{}
		unique := func(id string) string {
			if seen[id]++; seen[id] > 1 {
				return id + " #" + strconv.Itoa(seen[id])
			}
			return id
		}
		for _, e := range s.Endpoints {
			id := strings.ToUpper(e.Method) + " " + e.Path
			title := cmp.Or(strings.TrimSpace(e.Summary), e.OperationID, id)
			if !yield(Operation{ID: unique(id), Title: title, Endpoint: e}) {
				return
			}
		}
		for kind, fields := range s.fields() {
			for _, f := range fields {
				if !yield(Operation{ID: unique(kind + " " + f.Name), Title: f.Name, Field: f}) {
					return
				}
			}
		}
	}
}

// fields yields the fields of the three kinds.
func (s *Spec) fields() iter.Seq2[string, []*Field] {
	return func(yield func(string, []*Field) bool) {
		_ = yield(Query, s.Queries) && yield(Mutation, s.Mutations) && yield(Subscription, s.Subscriptions)
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
