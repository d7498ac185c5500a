package spec

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The formats of descriptions.
const (
	OpenAPI3 = "openapi3"
	Swagger2 = "swagger2"
	GraphQL  = "graphql"
)

// Spec is a NormalizedSpec. What it has no names for is kept under Extra and written again. It is not changed after it was read,
// so everybody may read it at the same time.
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

// Extra are the keys that are not known here.
type Extra map[string]jsontext.Value

// MarshalJSON writes the same bytes for the same Spec.
func (s *Spec) MarshalJSON() ([]byte, error) {
	type plain Spec
	return json.Marshal((*plain)(s), json.Deterministic(true))
}

// Metadata is about the API as a whole.
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
	// Method is as it was written; compare it without regard to case.
	Method      string       `json:"method"`
	OperationID string       `json:"operationId,omitempty"`
	Summary     string       `json:"summary,omitempty"`
	Description string       `json:"description,omitempty"`
	Tag         string       `json:"tag,omitempty"`
	BaseURL     string       `json:"baseUrl,omitempty"` // if it is not that of the API
	Parameters  []*Parameter `json:"parameters"`
	RequestBody *Body        `json:"requestBody,omitempty"`
	// Responses are by status code, "4XX" and "default" included.
	Responses map[string]*Response `json:"responses"`
	// SecurityRequirements are alternatives; each has scopes by the name of a scheme, as in OpenAPI. An empty list, other than
	// none, says that nothing is required.
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

// Body is what is sent to an endpoint.
type Body struct {
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	ContentType string `json:"contentType,omitempty"`
	// ContentTypes are all that are taken, if there are several.
	ContentTypes []string       `json:"contentTypes,omitempty"`
	Schema       *Model         `json:"schema,omitempty"`
	Example      jsontext.Value `json:"example,omitzero"`
	Extra        Extra          `json:",unknown"`
}

// Response is what an endpoint answers.
type Response struct {
	StatusCode  Code   `json:"statusCode"`
	Description string `json:"description"`
	ContentType string `json:"contentType,omitempty"` // if it is not JSON
	Schema      *Model `json:"schema,omitempty"`
	Extra       Extra  `json:",unknown"`
}

// Field is a query, mutation or subscription. ReturnType is in the notation of GraphQL, as in "[Film!]!".
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

// Model is a type of values, named or not. With Ref it stands for the model of that name, which is among those of the Spec, and
// its Type is the type of that.
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

// SecurityScheme is a way to sign in. A map of them is read as a list.
type SecurityScheme struct {
	// Name is that under which requirements know it.
	Name         string `json:"name"`
	Type         string `json:"type,omitempty"`
	Description  string `json:"description,omitempty"`
	In           string `json:"in,omitempty"`
	Parameter    string `json:"parameter,omitempty"` // the header, query parameter or cookie of an API key
	Scheme       string `json:"scheme,omitempty"`
	BearerFormat string `json:"bearerFormat,omitempty"`
	// Flows are those of OAuth 2, as OpenAPI 3 has them.
	Flows            jsontext.Value `json:"flows,omitzero"`
	OpenIDConnectURL string         `json:"openIdConnectUrl,omitempty"`
	Extra            Extra          `json:",unknown"`
}

// Tag is a group of endpoints. A text is read as its name.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Extra       Extra  `json:",unknown"`
}
