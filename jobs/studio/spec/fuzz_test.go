package spec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/studio/spec"
)

func samples(f *testing.F) [][]byte {
	f.Helper()
	var all [][]byte
	for _, name := range []string{"pets.yaml", "shop.json", "films.graphql", "media.yaml", "pets.yaml.normalized.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		all = append(all, text)
	}
	return all
}

// checkResult checks that a description can be encoded and read again.
func checkResult(t *testing.T, s *spec.Spec, err error) {
	t.Helper()
	if err != nil {
		var faults spec.Faults
		require.ErrorAs(t, err, &faults)
		require.NotEmpty(t, faults)
		for _, f := range faults {
			require.NotEmpty(t, f.Path)
			require.NotContains(t, f.Error(), "\n")
		}
		return
	}
	written, err := json.Marshal(s)
	require.NoError(t, err)
	outline := s.Outline()
	for op := range s.Operations() {
		require.NotEmpty(t, op.ID)
		require.NotEmpty(t, op.Title)
	}
	again, err := spec.Parse(written)
	if err != nil {
		return // a description may have an empty name where a NormalizedSpec must have one
	}
	require.Equal(t, outline, again.Outline())
}

func FuzzParse(f *testing.F) {
	for _, text := range samples(f) {
		if json.Valid(text) {
			f.Add(text)
		}
		quoted, err := json.Marshal(string(text))
		require.NoError(f, err)
		f.Add(quoted)
	}
	f.Add([]byte(`{"data": {"__schema": {"queryType": {"name": "Q"}, "types": [{"kind": "OBJECT", "name": "Q", "fields": [{"name": "a", "type": {"kind": "LIST"}}]}]}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := spec.Parse(raw)
		checkResult(t, s, err)
	})
}

func FuzzRead(f *testing.F) {
	for _, text := range samples(f) {
		f.Add("", text)
	}
	f.Add("a.gql", []byte("type Query { a(b: [C!] = [{d: 1}]): Int } input C { d: Int }"))
	f.Add("a.yaml", []byte("openapi: 3.1.0\ninfo: {title: T, version: 1}\npaths: {/a: {get: {parameters: [{$ref: '#/paths/~1a/get/parameters/0'}]}}}"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		s, err := spec.Read(name, text)
		checkResult(t, s, err)
	})
}
