package sdk_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/github/copilot-sdk/go/rpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
)

func TestQuestionsOfTheCLI(t *testing.T) {
	type question = event.Question
	tools := []event.Tool{{Name: "shop.buy"}, {Name: "git.push"}}
	for name, tc := range map[string]struct {
		kind, data string
		want       question
	}{
		"a form without fields": {
			"elicitation.requested", `{"requestId":"q","message":"Hi","mode":"form"}`,
			question{ID: "q", Kind: event.AskForm, Text: "Hi", Form: &event.Form{}},
		},
		"a form of a server, the required fields first": {
			"elicitation.requested",
			`{"requestId":"q","message":"Hi","elicitationSource":"files","toolCallId":"c","requestedSchema":{"type":"object",
				"properties":{"b":{"type":"string"},"a":{"type":"boolean"},"z":{"type":"integer"},"y":{"type":"number"}},"required":["z","y","gone"]}}`,
			question{ID: "q", Kind: event.AskForm, Text: "Hi", Source: "files", Call: "c", Form: &event.Form{Fields: []event.Field{
				{Name: "y", Type: event.FieldNumber, Required: true},
				{Name: "z", Type: event.FieldInteger, Required: true},
				{Name: "a", Type: event.FieldBoolean},
				{Name: "b", Type: event.FieldText},
			}}},
		},
		"a page to visit": {
			"elicitation.requested", `{"requestId":"q","message":"Sign in","mode":"url","url":"https://example.org/x","elicitationSource":"files"}`,
			question{ID: "q", Kind: event.AskSignIn, Text: "Sign in", URL: "https://example.org/x", Source: "files"},
		},
		"a call of a client's tool, under its own name": {
			"external_tool.requested", `{"requestId":"q","toolCallId":"c","toolName":"shop_buy","arguments":{"n":1}}`,
			question{ID: "q", Kind: event.AskTool, Call: "c", Tool: "shop.buy", Arguments: json.RawMessage(`{"n":1}`)},
		},
		"a call of an undeclared tool": {
			"external_tool.requested", `{"requestId":"q","toolCallId":"c","toolName":"other"}`,
			question{ID: "q", Kind: event.AskTool, Call: "c", Tool: "other"},
		},
		"a permission for a forced push": {
			"permission.requested", `{"requestId":"q","permissionRequest":{"kind":"custom-tool","toolName":"git_push","args":{"force":true}}}`,
			question{
				ID: "q", Kind: event.AskPermission, Tool: "git.push", Names: []string{"git.forcePush"}, Title: "Use git.push",
				Detail: "{\n  \"force\": true\n}",
			},
		},
		"a permission for a client's tool, under its own name": {
			"permission.requested", `{"requestId":"q","permissionRequest":{"kind":"custom-tool","toolName":"shop_buy","toolCallId":"c","args":{"n":1}}}`,
			question{ID: "q", Kind: event.AskPermission, Call: "c", Tool: "shop.buy", Names: []string{"shop.buy"}, Title: "Use shop.buy", Detail: "{\n  \"n\": 1\n}"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := sdk.NewTranslator("/project", tools...).Event(vendorEvent(t, tc.kind, tc.data))
			require.Len(t, got, 1)
			assert.Equal(t, tc.want, withoutNeeds(got[0]))
		})
	}
	for kind, data := range map[string]string{
		"elicitation.completed":    `{"requestId":"q","action":"accept"}`,
		"external_tool.completed":  `{"requestId":"q"}`,
		"exit_plan_mode.completed": `{"requestId":"q","approved":true}`,
	} {
		assert.Equal(t, []event.Body{event.QuestionClosed{ID: "q", Ending: event.Withdrawn}},
			sdk.NewTranslator("/project").Event(vendorEvent(t, kind, data)), kind)
	}
}

func TestPlanApprovals(t *testing.T) {
	for name, tc := range map[string]struct {
		data, title, text string
		choices           []string
	}{
		"the recommended choice comes first": {
			`"planContent":"1. a","summary":"# Do a\nand b","actions":["exit_only","interactive","autopilot"],"recommendedAction":"autopilot"`,
			"Do a", "1. a",
			[]string{"autopilot", "exit_only", "interactive"},
		},
		"it may already be the first":         {`"summary":"s","planContent":"p","actions":["interactive"],"recommendedAction":"interactive"`, "s", "p", []string{"interactive"}},
		"it may not be among the choices":     {`"summary":"s","planContent":"p","actions":["interactive"],"recommendedAction":"fly"`, "s", "p", []string{"interactive"}},
		"there may be no choices":             {`"summary":"s","planContent":"p"`, "s", "p", nil},
		"the summary replaces a missing plan": {`"summary":"\n\n## s \nmore"`, "s", "\n\n## s \nmore", nil},
		"both may be missing":                 {`"actions":null`, "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := sdk.NewTranslator("/project").Event(vendorEvent(t, "exit_plan_mode.requested", `{"requestId":"q",`+tc.data+`}`))
			assert.Equal(t, []event.Body{
				event.PlanChanged{Text: tc.text},
				event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskPlan, Title: tc.title, Text: tc.text, Choices: tc.choices}},
			}, got)
		})
	}
}

func number(n float64) *float64 { return &n }

func TestFieldsOfForms(t *testing.T) {
	type field = event.Field
	for name, tc := range map[string]struct {
		schema string
		want   field
	}{
		"a text": {
			`{"type":"string","title":"Name","description":"yours","format":"email","minLength":1,"maxLength":9,"default":"x"}`,
			field{Title: "Name", Detail: "yours", Type: event.FieldText, Format: "email", Min: number(1), Max: number(9), Default: "x"},
		},
		"a text with choices": {
			`{"type":"string","enum":["a","b","c"],"enumNames":["A","B"]}`,
			field{Type: event.FieldText, Choices: []event.Choice{{Value: "a", Title: "A"}, {Value: "b", Title: "B"}, {Value: "c", Title: "c"}}},
		},
		"a text with titled choices": {
			`{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b"}],"default":"b"}`,
			field{Type: event.FieldText, Choices: []event.Choice{{Value: "a", Title: "A"}, {Value: "b", Title: "b"}}, Default: "b"},
		},
		"a number":   {`{"type":"number","minimum":0.5,"maximum":2,"default":1.5}`, field{Type: event.FieldNumber, Min: number(0.5), Max: number(2), Default: 1.5}},
		"an integer": {`{"type":"integer","minimum":0,"default":3}`, field{Type: event.FieldInteger, Min: number(0), Default: 3.0}},
		"a boolean":  {`{"type":"boolean","default":false}`, field{Type: event.FieldBoolean, Default: false}},
		"a list": {
			`{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b"]},"default":["a"]}`,
			field{Type: event.FieldList, Min: number(1), Max: number(2), Choices: []event.Choice{{Value: "a", Title: "a"}, {Value: "b", Title: "b"}}, Default: []string{"a"}},
		},
		"a list with titled choices":   {`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`, field{Type: event.FieldList, Choices: []event.Choice{{Value: "a", Title: "A"}}}},
		"a list of anything":           {`{"type":"array","default":[]}`, field{Type: event.FieldList, Default: []string{}}},
		"a default of another type":    {`{"type":"number","default":"1"}`, field{Type: event.FieldNumber}},
		"a default of mixed items":     {`{"type":"array","default":["a",1]}`, field{Type: event.FieldList}},
		"a list as default of a text":  {`{"type":"string","default":["a"]}`, field{Type: event.FieldText}},
		"an empty one":                 {`{"type":"string","default":[]}`, field{Type: event.FieldText}},
		"an object as default":         {`{"type":"string","default":{"a":1}}`, field{Type: event.FieldText}},
		"a number with choices":        {`{"type":"integer","enum":["1","2"]}`, field{Type: event.FieldInteger}},
		"no type":                      {`{"title":"T"}`, field{Title: "T", Type: event.FieldText}},
		"an unknown type":              {`{"type":"object","title":"T"}`, field{Title: "T", Type: event.FieldText}},
		"several types":                {`{"type":["string","null"]}`, field{Type: event.FieldText}},
		"a bound that is not a number": {`{"type":"number","minimum":"1"}`, field{Type: event.FieldText}},
		"choices that are not strings": {`{"type":"string","enum":[1,2]}`, field{Type: event.FieldText}},
		"nothing":                      {`null`, field{Type: event.FieldText}},
		"not an object":                {`[1]`, field{Type: event.FieldText}},
	} {
		t.Run(name, func(t *testing.T) {
			var schema any
			require.NoError(t, json.Unmarshal([]byte(tc.schema), &schema))
			tc.want.Name, tc.want.Required = "f", true
			assert.Equal(t, tc.want, sdk.Field("f", schema, true))
		})
	}
}

func FuzzForm(f *testing.F) {
	for _, schema := range []string{
		`{"type":"string","enum":["a"],"enumNames":["A","B"],"default":"a"}`, `{"type":"string","oneOf":[{"const":"a"}]}`,
		`{"type":"array","items":{"anyOf":[{"const":"a"}],"enum":["b"]},"minItems":1,"default":["b"]}`, `{"type":"array","items":null,"default":[[]]}`,
		`{"type":"integer","minimum":1e400}`, `{"type":"number","maximum":-0.0,"default":1}`, `{"type":"boolean","default":"true"}`,
		`{"TYPE":"string","type":7}`, `true`, `null`, `[]`, `"x"`, `{"type":"string","oneOf":{"const":1}}`, `{"items":{"enum":"x"}}`,
	} {
		f.Add(schema)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		var e rpc.SessionEvent
		if json.Unmarshal(fmt.Appendf(nil, `{"type":"elicitation.requested","data":{"requestId":"q","message":"m",
			"requestedSchema":{"type":"object","properties":{"a":%s,"b":%s},"required":["b"]}}}`, schema, schema), &e) != nil {
			return
		}
		got := sdk.NewTranslator("/project").Event(e)
		require.Len(t, got, 1)
		asked, ok := got[0].(event.QuestionAsked)
		require.True(t, ok)
		require.NotNil(t, asked.Question.Form)
		require.Len(t, asked.Question.Form.Fields, 2)
		assert.Equal(t, "b", asked.Question.Form.Fields[0].Name)
		for _, field := range asked.Question.Form.Fields {
			checkField(t, field)
		}
	})
}

// checkField checks the invariants of a field.
func checkField(t *testing.T, f event.Field) {
	t.Helper()
	var fits bool
	switch f.Type {
	case event.FieldText:
		_, fits = f.Default.(string)
	case event.FieldNumber, event.FieldInteger:
		_, fits = f.Default.(float64)
		assert.Empty(t, f.Choices)
	case event.FieldBoolean:
		_, fits = f.Default.(bool)
		assert.Empty(t, f.Choices)
	case event.FieldList:
		_, fits = f.Default.([]string)
	default:
		assert.Fail(t, "unknown field type", f.Type)
	}
	assert.True(t, fits || f.Default == nil, "%#v", f)
	_, err := json.Marshal(f)
	assert.NoError(t, err)
}
