package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/studio/spec"
)

func TestEveryFaultHasItsPath(t *testing.T) {
	const head = `"format": "openapi3", "metadata": {"title": "T", "version": "1"}`
	endpoint := func(rest string) string {
		return `{` + head + `, "endpoints": [{"path": "/a", "method": "get"` + rest + `}]}`
	}
	openapi := func(rest string) string { return "openapi: 3.0.0\ninfo: {title: T, version: '1'}\n" + rest }
	for _, c := range []struct{ name, text, want string }{
		// texts
		{"nothing", "", `.: is empty`},
		{"blanks", " \n\t", `.: is empty`},
		{"only a comment", "# x\n", `.: is empty`},
		{"prose", "I have no description.", `.: is not a description: neither a map in JSON or YAML nor GraphQL SDL`},
		{"a list", "[1]", `.: is not a description: neither a map in JSON or YAML nor GraphQL SDL`},
		{"an unknown object", `{"a": 1}`, `.: is not a known description: it has none of format (a NormalizedSpec), openapi, swagger and __schema`},
		{"an unknown object with data", `{"data": {"a": 1}}`, `.: is not a known description: it has none of format (a NormalizedSpec), openapi, swagger and __schema`},
		{"not UTF-8", "a: \xff", `.: is not UTF-8`},
		{"not YAML", "openapi: 3.0.0\n\tx: [", `2: .: is not YAML: found a tab character that violates indentation`},
		{"two documents", "openapi: 3.0.0\n---\na: 1\n", `2: .: has a second document`},
		{"an alias", "openapi: 3.0.0\na: &a [1]\nb: *a\n", `3: .: has an alias (*a), which is not read: write out what it stands for`},
		{"nested aliases", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", `2: .: has an alias (*a), which is not read: write out what it stands for`},
		{"a key that is not text", "openapi: 3.0.0\n[a]: 1\n", `2: .: a key must be plain text`},
		{"a key twice", "openapi: 3.0.0\ninfo: {title: a, title: b}\n", `1: info.title: is defined twice`},
		{"too deep", "openapi: 3.0.0\na: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), `2: .: is nested deeper than 200`},
		{"too long", strings.Repeat("a", 10<<20+1), `.: is longer than 10485760 bytes`},

		// NormalizedSpec
		{"no metadata", `{"format": "graphql"}`, `metadata: is missing`},
		{"no format", `{"metadata": {"title": "T", "version": "1"}}`, `format: is missing`},
		{"an unknown format", `{"format": "soap", "metadata": {"title": "T", "version": "1"}}`, `format: must be one of openapi3 swagger2 graphql`},
		{"nothing of the metadata", `{"format": "graphql", "metadata": {}}`, "metadata.title: is missing\nmetadata.version: is missing"},
		{"an empty title", `{"format": "graphql", "metadata": {"title": "", "version": "1"}}`, "metadata.title: must not be empty"},
		{"a version that is a number", `{"format": "graphql", "metadata": {"title": "T", "version": 1}}`, "metadata.version: must be string, not number"},
		{"an endpoint without anything", `{` + head + `, "endpoints": [{}]}`, "endpoints[0].method: is missing\nendpoints[0].path: is missing"},
		{"an endpoint that is text", `{` + head + `, "endpoints": ["GET /a"]}`, "endpoints[0]: must be object, not string"},
		{"endpoints that are an object", `{` + head + `, "endpoints": {}}`, "endpoints: must be null or array, not object"},
		{"an invalid method", `{` + head + `, "endpoints": [{"path": "/a", "method": "GET /"}]}`, "endpoints[0].method: \"GET /\" does not have the form ^[A-Za-z][A-Za-z-]*$"},
		{"a parameter without a name", endpoint(`, "parameters": [{"in": "query"}]`), "endpoints[0].parameters[0].name: is missing"},
		{"a parameter in an unknown place", endpoint(`, "parameters": [{"name": "a", "in": "there"}]`), "endpoints[0].parameters[0].in: must be one of path query header cookie body formData"},
		{"responses that are a list", endpoint(`, "responses": []`), "endpoints[0].responses: must be null or object, not array"},
		{"a response that is text", endpoint(`, "responses": {"200": "ok"}`), "endpoints[0].responses[200]: must be object, not string"},
		{"a nested schema", endpoint(`, "responses": {"2 00": {"schema": {"properties": {"a": {"items": {"type": 1}}}}}}`), `endpoints[0].responses["2 00"].schema.properties.a.items.type: must be null or string, not number`},
		{"a body with invalid names", endpoint(`, "requestBody": {"type": "object", "required": [1]}`), "endpoints[0].requestBody.required[0]: must be string, not number"},
		{"a body that is a model with a fault", endpoint(`, "requestBody": {"type": "object", "properties": {"a": {"type": 1}}}`), "endpoints[0].requestBody.properties.a.type: must be null or string, not number"},
		{"a body with a fault", endpoint(`, "requestBody": {"required": "yes", "schema": {}}`), "endpoints[0].requestBody.required: must be null or boolean, not string"},
		{"a body that is text", endpoint(`, "requestBody": "Film"`), "endpoints[0].requestBody: must be null or object, not string"},
		{"a model without a name", `{` + head + `, "models": [{"type": "object"}]}`, "models[0].name: is missing"},
		{"a query without a type", `{` + head + `, "queries": [{"name": "a", "args": [{}]}]}`, "queries[0].args[0].name: is missing\nqueries[0].args[0].type: is missing\nqueries[0].returnType: is missing"},
		{"a scheme without a name", `{` + head + `, "securitySchemes": [{}]}`, "securitySchemes[0].name: is missing"},
		{"several", `{"format": 1, "metadata": {"title": 2, "version": "1"}, "models": 3}`, "format: must be one of openapi3 swagger2 graphql\nmetadata.title: must be string, not number\nmodels: must be null or array, not number"},

		// OpenAPI and Swagger
		{"an unknown OpenAPI", "openapi: 4.0.0\ninfo: {title: T, version: 1}\npaths: {}", `openapi: "4.0.0" is not supported; use 3.0, 3.1 or 3.2`},
		{"an unknown Swagger", `{"swagger": "1.2", "info": {"title": "T", "version": "1"}, "paths": {}}`, `swagger: "1.2" is not supported; use 2.0`},
		{"no info", "openapi: 3.0.0\npaths: {}", "info.title: is missing\ninfo.version: is missing"},
		{
			"foreign references", openapi("paths:\n  /a: {$ref: 'https://x.example/a.yaml'}\n  /b: {get: {responses: {'200': {$ref: 'b.yaml#/x'}}}}"),
			`paths["/a"].$ref: refers to "https://x.example/a.yaml", but nothing is fetched: put everything into one description` + "\n" +
				`paths["/b"].get.responses[200].$ref: refers to "b.yaml#/x", but nothing is fetched: put everything into one description`,
		},

		{"a long chain", openapi("paths: {}\ncomponents:\n  schemas:\n" + chain(1001)), `.: is too large: more than 1000 components are mere references`},
		{"allOf that doubles with each level", openapi("paths: {}\ncomponents:\n  schemas:\n" + doubling(40)), `.: is too large: 10000 endpoints and 300000 models with those in them are allowed`},

		// GraphQL
		{"invalid SDL", "type Query {\n  a: \n}", "3: .: Expected Name, found }"},
		{"SDL with an undefined type", "type Query {\n  a: B\n}", "2: .: Undefined type B."},
		{"SDL without operations", "type A { b: Int }", ".: has no query, no mutation and no subscription"},
		{"SDL that is too deep", "type Query { a: " + strings.Repeat("[", 300), ".: is too large: more than 2000000 tokens, or nested deeper than 200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := spec.Read("", []byte(c.text))
			assert.Nil(t, s)
			var faults spec.Faults
			require.ErrorAs(t, err, &faults)
			assert.Equal(t, c.want, err.Error())
		})
	}
}

func chain(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "    A%d: {$ref: '#/components/schemas/A%d'}\n", i, i+1)
	}
	return text.String() + fmt.Sprintf("    A%d: {}\n", n)
}

func doubling(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "    A%d: {allOf: [{$ref: '#/components/schemas/A%d'}, {$ref: '#/components/schemas/A%d'}]}\n", i, i+1, i+1)
	}
	return text.String() + fmt.Sprintf("    A%d: {properties: {x: {type: string}}}\n", n)
}

func TestFaultsOfMessagesAndFiles(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`5`, ".: must be an object or text"},
		{`[]`, ".: must be an object or text"},
		{``, ".: must be an object or text"},
		{`null`, ".: must be an object or text"},
		{`"\ud800"`, "."},
		{`{"format"`, ".: is not JSON"},
		{`{"format": 1, "format": 2}`, "format: is defined twice"},
		{`{"openapi": "3.0.0", "paths": 5}`, ".: cannot be read"},
		{`{"openapi": "3.0.0", "info": {"title": "T", "version": "1"}, "paths": {"/a": {"get": {"responses": {"200": {"$ref": "#/components/responses/x"}}}}}}`, ".: cannot be read"},
	} {
		_, err := spec.Parse([]byte(c.raw))
		var faults spec.Faults
		require.ErrorAs(t, err, &faults, c.raw)
		assert.Contains(t, err.Error(), c.want, c.raw)
	}
	_, err := spec.Read("x.json", []byte("openapi: 3.0.0"))
	require.ErrorContains(t, err, "is not JSON")
	_, err = spec.Read("x.graphql", []byte("openapi: 3.0.0"))
	require.ErrorContains(t, err, "Cannot parse the unexpected character")
}

func TestVersionsNeedNoQuotesAndExamplesMayContainReferences(t *testing.T) {
	s, err := spec.Read("x.yaml", []byte("swagger: 2.0\ninfo: {title: T, version: 1.10}\nbasePath: /api\npaths: {/a: {get: {responses: {'200': {description: x, schema: {type: object, example: {$ref: elsewhere}}}}}}}"))
	require.NoError(t, err)
	assert.Equal(t, "1.10", s.Metadata.Version)
	assert.Equal(t, spec.Swagger2, s.Format)
	assert.Equal(t, "/api", s.Metadata.BaseURL)
}
