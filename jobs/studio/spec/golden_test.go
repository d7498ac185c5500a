package spec_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/studio/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func read(t *testing.T, name string) *spec.Spec {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	s, err := spec.Read(name, text)
	require.NoError(t, err)
	return s
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "go test ./jobs/studio/spec -update rewrites it")
}

func TestDescriptionsAreNormalizedAndOutlined(t *testing.T) {
	for _, name := range []string{"pets.yaml", "forge.json", "shop.json", "films.graphql", "media.yaml"} {
		t.Run(name, func(t *testing.T) {
			s := read(t, name)
			written, err := json.Marshal(s)
			require.NoError(t, err)
			var lines bytes.Buffer
			require.NoError(t, json.Indent(&lines, written, "", " "))
			golden(t, name+".normalized.json", append(lines.Bytes(), '\n'))
			golden(t, name+".outline.txt", []byte(s.Outline()))

			again, err := spec.Parse(written)
			require.NoError(t, err, "the output is a NormalizedSpec")
			rewritten, err := json.Marshal(again)
			require.NoError(t, err)
			assert.JSONEq(t, string(written), string(rewritten))
			assert.Equal(t, s.Outline(), again.Outline())
		})
	}
}

func TestDescriptionIsReadFromAnyForm(t *testing.T) {
	for _, name := range []string{"pets.yaml", "shop.json", "films.graphql"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		want, err := json.Marshal(read(t, name))
		require.NoError(t, err)
		quoted, err := json.Marshal(string(text))
		require.NoError(t, err)
		for how, parse := range map[string]func() (*spec.Spec, error){
			"as text in a message":     func() (*spec.Spec, error) { return spec.Parse(quoted) },
			"as a file without a name": func() (*spec.Spec, error) { return spec.Read("", append([]byte("\uFEFF"), text...)) },
			"normalized, as text":      func() (*spec.Spec, error) { return spec.Read("", want) },
			"normalized, as an object": func() (*spec.Spec, error) { return spec.Parse(want) },
		} {
			s, err := parse()
			require.NoError(t, err, "%s %s", name, how)
			got, err := json.Marshal(s)
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(got), "%s %s", name, how)
		}
	}
}

func TestOperationsHaveStableIDsAndTitles(t *testing.T) {
	var ids, titles []string
	for op := range read(t, "pets.yaml").Operations() {
		ids, titles = append(ids, op.ID), append(titles, op.Title)
	}
	assert.Equal(t, []string{"GET /animals", "POST /animals", "GET /animals/{id}", "DELETE /animals/{id}"}, ids)
	assert.Equal(t, []string{"List animals", "Add an animal", "One animal", "One animal"}, titles)

	count := 0
	for range read(t, "forge.json").Operations() {
		count++
	}
	assert.Equal(t, 78, count)

	ids = nil
	for op := range read(t, "films.graphql").Operations() {
		ids = append(ids, op.ID)
		if strings.HasPrefix(op.ID, "mutation") {
			break
		}
	}
	assert.Equal(t, []string{"query films", "query film", "query person", "query search", "query oldFilms", "mutation rate"}, ids)

	s, err := spec.Parse([]byte(`{"format": "openapi3", "metadata": {"title": "T", "version": "1"}, "endpoints": [{"path": "/a", "method": "get"}, {"path": "/a", "method": "GET"}]}`))
	require.NoError(t, err)
	ids = nil
	for op := range s.Operations() {
		ids = append(ids, op.ID)
	}
	assert.Equal(t, []string{"GET /a", "GET /a #2"}, ids)
	assert.Equal(t, "get", s.Endpoints[0].Method)
}

func TestUnknownKeysAndVariantsAreKept(t *testing.T) {
	const text = `{
		"format": "openapi3", "x": {"y": [1, null]}, "metadata": {"title": "T", "version": "1", "contact": "me"},
		"endpoints": [{"path": "/a", "method": "post", "id": 7, "parameters": [{"name": "q", "in": "query", "type": "string", "required": true, "enum": ["a"]}],
			"responses": {"200": {"statusCode": "200", "description": "ok", "x": 1, "schema": {"type": "object", "required": true, "additionalProperties": false, "x": 2, "properties": {"p": {"type": "string", "x": 3}}}}},
			"requestBody": {"required": false, "x": 4}, "securityRequirements": [{"k": []}]}],
		"models": [{"name": "M", "type": "object", "x": 5}], "securitySchemes": [{"name": "k", "x": 6}], "tags": [{"name": "t", "x": 7}],
		"queries": [{"name": "q", "type": "query", "args": [{"name": "a", "type": {"type": "string"}, "required": false, "x": 8}], "returnType": {"type": "object"}, "x": 9}]
	}`
	s, err := spec.Parse([]byte(text))
	require.NoError(t, err)
	got, err := json.Marshal(s)
	require.NoError(t, err)
	assert.JSONEq(t, text, string(got))

	s, err = spec.Parse([]byte(`{"format": "swagger2", "metadata": {"title": "T", "version": "1", "description": null}, "endpoints": [{"path": "/a", "method": "GET", "parameters": null,
		"responses": {"404": {"statusCode": 404, "description": "none"}, "default": {"description": "all"}}}], "tags": ["a"], "securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "X-Key"}}}`))
	require.NoError(t, err)
	got, err = json.Marshal(s)
	require.NoError(t, err)
	assert.JSONEq(t, `{"format": "swagger2", "metadata": {"title": "T", "version": "1"}, "endpoints": [{"path": "/a", "method": "GET", "parameters": [],
		"responses": {"404": {"statusCode": "404", "description": "none"}, "default": {"statusCode": "default", "description": "all"}}}], "models": [], "tags": [{"name": "a"}],
		"securitySchemes": [{"name": "k", "type": "apiKey", "in": "header", "parameter": "X-Key"}]}`, string(got))
}

func TestBodyMayBeAModel(t *testing.T) {
	const head = `{"format": "openapi3", "metadata": {"title": "T", "version": "1"}, "models": [], "endpoints": [{"path": "/a", "method": "post", "parameters": [], "responses": {}, "requestBody": `
	const film = `{"name": "NewFilm", "type": "object", "description": "A film.", "x": 1, "required": ["title"],
		"properties": {"title": {"name": "title", "type": "string", "required": []}, "genre": {"type": "string", "enumValues": ["drama", "comedy"]}, "year": {"type": "integer"}}}`
	for name, c := range map[string]struct{ body, want, outline string }{
		"as apps send it": {film, `{"required": true, "description": "A film.", "schema": ` + strings.Replace(film, `, "required": []`, "", 1) + `}`, "body!: {genre: string drama|comedy, title!: string, year: integer} // A film."},
		"a list":          {`{"type": "array", "items": {"type": "string"}}`, `{"required": false, "schema": {"type": "array", "items": {"type": "string"}}}`, "body: [string]"},
		"by name":         {`{"ref": "Film", "type": "object"}`, `{"required": false, "schema": {"ref": "Film", "type": "object"}}`, "body: Film"},
		"with its media type": {
			`{"type": "string", "required": true, "contentType": "text/plain", "contentTypes": ["text/plain", "text/html"]}`,
			`{"required": true, "contentType": "text/plain", "contentTypes": ["text/plain", "text/html"], "schema": {"type": "string", "required": true}}`, "body!: text/plain string",
		},
		"only required names": {`{"required": ["a"], "schema": null}`, `{"required": true, "schema": {"required": ["a"]}}`, "body!:"},
		"a body":              {`{"required": true, "contentType": "a/b", "schema": {"type": "string"}}`, `{"required": true, "contentType": "a/b", "schema": {"type": "string"}}`, "body!: a/b string"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := spec.Parse([]byte(head + c.body + `}]}`))
			require.NoError(t, err)
			got, err := json.Marshal(s)
			require.NoError(t, err)
			assert.JSONEq(t, head+c.want+`}]}`, string(got))
			assert.Contains(t, s.Outline(), c.outline)
			again, err := spec.Parse(got)
			require.NoError(t, err)
			assert.Equal(t, s.Outline(), again.Outline())
		})
	}
}

func TestIntrospectionIsReadLikeSDL(t *testing.T) {
	s, err := spec.Parse([]byte(`{"data": {"__schema": {"queryType": {"name": "Root"}, "types": [
		{"kind": "OBJECT", "name": "Root", "fields": [{"name": "films", "args": [{"name": "first", "type": {"kind": "SCALAR", "name": "Int"}, "defaultValue": "20"}],
			"type": {"kind": "NON_NULL", "ofType": {"kind": "LIST", "ofType": {"kind": "OBJECT", "name": "Film"}}}, "isDeprecated": true}]},
		{"kind": "OBJECT", "name": "Film", "interfaces": [], "fields": [{"name": "id", "args": [], "type": {"kind": "NON_NULL", "ofType": {"kind": "SCALAR", "name": "ID"}}}, {"name": "genre", "args": [], "type": {"kind": "ENUM", "name": "Genre"}}]},
		{"kind": "ENUM", "name": "Genre", "enumValues": [{"name": "DRAMA"}]}, {"kind": "UNION", "name": "Hit", "possibleTypes": [{"name": "Film"}]},
		{"kind": "SCALAR", "name": "Int"}, {"kind": "OBJECT", "name": "__Type", "fields": []}]}}}`))
	require.NoError(t, err)
	assert.Equal(t, `# GraphQL API 1.0 (graphql)

## Operations
query films(first: Int = 20): [Film]! (deprecated)

## Models
Film: {genre: Genre, id!: ID!}
Genre: enum DRAMA
Hit: Film
`, s.Outline())
}
