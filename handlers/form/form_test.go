package form_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/form"
)

func TestFieldsAreEncoded(t *testing.T) {
	two := 2.0
	for _, c := range []struct {
		name string
		form *event.Form
		want string
	}{
		{"no form has no fields", nil, `[]`},
		{
			"the name replaces a missing title", &event.Form{Fields: []event.Field{{Name: "n", Type: event.FieldText, Required: true}}},
			`[{"name":"n","title":"n","type":"string","required":true}]`,
		},
		{
			"all members", &event.Form{Fields: []event.Field{{
				Name: "n", Title: "N", Detail: "d", Type: event.FieldList, Choices: []event.Choice{{Value: "a", Title: "A"}, {Value: "b"}},
				Default: []string{"a"}, Format: "email", Min: new(float64), Max: &two,
			}}},
			`[{"name":"n","title":"N","detail":"d","type":"array","required":false,"choices":[{"value":"a","title":"A"},{"value":"b","title":"b"}],"default":["a"],"format":"email","min":0,"max":2}]`,
		},
		{
			"false is a default", &event.Form{Fields: []event.Field{{Name: "n", Type: event.FieldBoolean, Default: false}}},
			`[{"name":"n","title":"n","type":"boolean","required":false,"default":false}]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := json.Marshal(form.Fields(c.form))
			require.NoError(t, err)
			assert.Equal(t, c.want, string(got))
		})
	}
}

func TestValuesAreStringsNumbersBooleansAndStringLists(t *testing.T) {
	got, err := form.Values(map[string]any{"t": "x", "n": 1.5, "b": false, "l": []any{"a", "b"}, "e": []any{}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"t": "x", "n": 1.5, "b": false, "l": []string{"a", "b"}, "e": []string{}}, got)
	for name, v := range map[string]any{
		"null": nil, "an object": map[string]any{}, "a list of numbers": []any{1.0}, "a list in a list": []any{[]any{}}, "a list with null": []any{nil},
	} {
		_, err := form.Values(map[string]any{"the field": v})
		require.ErrorContains(t, err, `field "the field": `, name)
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
	}
}

func FuzzValues(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":null}`, `{"a":["b",1]}`, `{"a":{"b":[]}}`, `{"a":[],"b":1e300,"c":true}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var decoded map[string]any
		if json.Unmarshal(b, &decoded) != nil {
			return
		}
		values, err := form.Values(decoded)
		if err != nil {
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
			assert.Nil(t, values)
			return
		}
		for _, v := range values {
			switch v.(type) {
			case string, float64, bool, []string:
			default:
				t.Errorf("%T is not a field value", v)
			}
		}
	})
}
