package event_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var moment = time.Date(2026, 2, 3, 4, 5, 6, 789012345, time.UTC)

// fill sets every field. An unknown kind of value fails the test, because its encoding needs a decision.
func fill(t *testing.T, v reflect.Value, name string) {
	t.Helper()
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(moment))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"b":[1.50,"<a> & \"ä\""],"a":null}`))
		return
	case []byte:
		v.SetBytes([]byte{0, 0xff, '\n', 'x'})
		return
	case permission.Policy:
		v.Set(reflect.ValueOf(permission.Policy{"fs.write": permission.Deny, "*": permission.Allow}))
		return
	case map[string]any:
		v.Set(reflect.ValueOf(map[string]any{"text": "a", "number": 1.5, "yes": true, "list": []string{"a", "b"}, "none": []string{}}))
		return
	}
	switch v.Kind() { //nolint:exhaustive // the others fail
	case reflect.String:
		v.SetString(name + " <\"é\\\n\x01\u2028🙂\">")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(1)<<53 + int64(len(name)))
	case reflect.Float64:
		v.SetFloat(0.33)
	case reflect.Interface:
		v.Set(reflect.ValueOf([]string{"one", "two"}))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), name+" 1")
		fill(t, v.Index(1), name+" 2")
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !slices.Contains([]string{"RefuseIfBusy", "Tools", "Needs"}, name) { // of prompts and questions: never recorded
				fill(t, v.Field(i), name)
			}
		}
	default:
		require.Fail(t, "there is no value for "+name, v.Type().String())
	}
}

// full returns one event of each type with every field set.
func full(t *testing.T) (events []event.Event) {
	t.Helper()
	for _, b := range event.Bodies() {
		v := reflect.New(reflect.TypeOf(b)).Elem()
		fill(t, v, "")
		events = append(events, event.Event{Time: moment, Run: "r1", Agent: "a1", Body: v.Interface().(event.Body)})
	}
	return events
}

func TestEncodingIsStable(t *testing.T) {
	var lines []string
	for i, e := range full(t) {
		lines = append(lines, encode(t, e), encode(t, event.Event{Body: event.Bodies()[i]}))
	}
	golden(t, "testdata/events.jsonl", lines)
}

// alone returns values with one field set, for each field of v and of its nested structs.
func alone(v reflect.Value) (values []reflect.Value) {
	for i := range v.NumField() {
		fields := []reflect.Value{v.Field(i)}
		if f := v.Field(i); f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[time.Time]() {
			fields = alone(f)
		}
		for _, f := range fields {
			one := reflect.New(v.Type()).Elem()
			one.Field(i).Set(f)
			values = append(values, one)
		}
	}
	return values
}

// variants returns bodies whose encoding is more than their fields.
func variants() []event.Body {
	zone := time.Date(2026, 1, 1, 0, 30, 0, 0, time.FixedZone("", 3600))
	return []event.Body{
		event.UserMessage{Prompt: event.Prompt{Attachments: []event.Attachment{}, Meta: json.RawMessage("{ \"a\" : 1 }"), RefuseIfBusy: true, Tools: &[]event.Tool{}}},
		event.UserMessage{Prompt: event.Prompt{Meta: json.RawMessage("{<"), Attachments: []event.Attachment{{}, {First: 1, Data: []byte{}}}}},
		event.ToolStarted{ID: "t", Arguments: json.RawMessage("\xff")},
		event.ToolEnded{Result: &event.ToolResult{}, Error: &event.ToolError{}},
		event.PlanChanged{Todos: []event.Todo{{}, {After: []string{}}}},
		event.QueueChanged{Waiting: []event.Waiting{{}}},
		event.PolicyChanged{Rules: permission.Policy{}},
		event.ServerChanged{Server: event.Server{State: event.ServerFailed}},
		event.QuestionAsked{Question: event.Question{Deadline: zone, Arguments: json.RawMessage("[1,"), Choices: []string{}, Needs: []permission.Need{{Name: "a"}}}},
		event.QuestionAsked{Question: event.Question{Scopes: []permission.Scope{}, Form: &event.Form{}}},
		event.QuestionAsked{Question: event.Question{Scopes: []permission.Scope{{}}, Form: &event.Form{Fields: []event.Field{
			{Default: ""}, {Default: 0.5}, {Default: false}, {Default: []string{}}, {Default: []any{"a", 1.0}}, {Choices: []event.Choice{{}}},
		}}}},
		event.QuestionClosed{Answer: event.Answer{Fields: map[string]any{}}},
		event.QuestionClosed{Answer: event.Answer{Fields: map[string]any{"b": nil, "a": "<&>"}}},
		event.Notice{Kind: "k", Raw: json.RawMessage("no\nJSON <&>")},
	}
}

// TestEncodingOfFieldsIsStable compares with the output of the first version of the codec.
func TestEncodingOfFieldsIsStable(t *testing.T) {
	var lines []string
	for _, e := range full(t) {
		for _, one := range alone(reflect.ValueOf(e.Body)) {
			lines = append(lines, encode(t, event.Event{Body: one.Interface().(event.Body)}))
		}
	}
	for _, b := range variants() {
		lines = append(lines, encode(t, event.Event{Body: b}))
	}
	slices.Sort(lines) // the order of fields in Go does not matter
	golden(t, "testdata/fields.jsonl", lines)
}

// golden compares lines with those of a golden file.
func golden(t *testing.T, file string, lines []string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	want := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%s has %d lines and there are %d; -update adds those of a new type or field", file, len(want), len(lines))
	}
	for i := range want {
		require.Equal(t, want[i], lines[i], "stored events must stay readable and masked; -update adds a new field")
	}
}

// TestTextsAreMaskedAndCounted puts a credential into every text. The golden file lists which are masked and the cost
// of each event.
func TestTextsAreMaskedAndCounted(t *testing.T) {
	var lines []string
	for _, e := range full(t) {
		withTokens(reflect.ValueOf(&e.Body).Elem())
		before := encode(t, e)
		var m event.Masker
		masked := []event.Event{{Body: m.Mask("", e.Body)}}
		if masked[0].Body == nil {
			masked = m.HeldBack(event.RunEnded{})
		}
		require.Len(t, masked, 1)
		line := fmt.Sprintf("%d %s", event.Cost(e), encode(t, masked[0]))
		lines = append(lines, strings.ReplaceAll(line, token, "TOKEN"))
		require.Equal(t, before, encode(t, e), "what the agent receives stays unmasked")
	}
	golden(t, "testdata/masked.txt", lines)
}

// token has the shape of a credential but is not one.
const token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

// withTokens appends text like a credential to each text.
func withTokens(v reflect.Value) {
	switch x := v.Interface().(type) {
	case time.Time, []byte, permission.Policy:
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"text":"` + token + `"}`))
		return
	case map[string]any:
		x["text"], x["list"] = token, []string{"a", token}
		return
	case event.Body:
		if v.Kind() == reflect.Interface {
			body := reflect.New(v.Elem().Type()).Elem()
			body.Set(v.Elem())
			withTokens(body)
			v.Set(body)
			return
		}
	}
	switch v.Kind() { //nolint:exhaustive // the others have no texts
	case reflect.String:
		v.SetString(v.String() + " " + token)
	case reflect.Interface:
		v.Set(reflect.ValueOf([]string{"one", token}))
	case reflect.Pointer:
		if !v.IsNil() {
			withTokens(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			withTokens(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			withTokens(v.Field(i))
		}
	}
}
