package event_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

var update = flag.Bool("update", false, "write the golden files anew")

// bodies has one of each type.
func bodies() []event.Body {
	return []event.Body{
		event.SessionOpened{},
		event.SessionClosed{},
		event.SessionError{},
		event.ModelChanged{},
		event.TitleChanged{},
		event.PolicyChanged{},
		event.UsageChanged{},
		event.ModelCalled{},
		event.CompactionStarted{},
		event.CompactionEnded{},
		event.RunStarted{},
		event.RunEnded{},
		event.UserMessage{},
		event.QueueChanged{},
		event.TurnStarted{},
		event.TurnEnded{},
		event.ReasoningStarted{},
		event.ReasoningDelta{},
		event.ReasoningEnded{},
		event.MessageStarted{},
		event.MessageDelta{},
		event.MessageEnded{},
		event.ToolStarted{},
		event.ToolOutput{},
		event.ToolEnded{},
		event.PlanChanged{},
		event.SubagentStarted{},
		event.SubagentEnded{},
		event.ServerChanged{},
		event.QuestionAsked{},
		event.QuestionClosed{},
		event.Notice{},
		event.Idle{},
	}
}

// declared are the names of all types with the method body.
func declared(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Name.Name == "body" && m.Recv != nil && m.Type.Results == nil {
				names = append(names, m.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	return names
}

var moment = time.Date(2026, 2, 3, 4, 5, 6, 789012345, time.UTC)

// fill sets everything that there is to set. A kind of value that it does not
// know fails the test, as nobody has thought of how it is written.
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
			if name := v.Type().Field(i).Name; !slices.Contains([]string{"RefuseIfBusy", "Tools", "Needs"}, name) { // of prompts and questions: they are never recorded
				fill(t, v.Field(i), name)
			}
		}
	default:
		require.Fail(t, "there is no value for "+name, v.Type().String())
	}
}

// full has one event of each type with everything set.
func full(t *testing.T) (events []event.Event) {
	t.Helper()
	for _, b := range bodies() {
		v := reflect.New(reflect.TypeOf(b)).Elem()
		fill(t, v, "")
		events = append(events, event.Event{Time: moment, Run: "r1", Agent: "a1", Body: v.Interface().(event.Body)})
	}
	return events
}

func encode(tb testing.TB, e event.Event) string {
	tb.Helper()
	data, err := event.Encode(e)
	require.NoError(tb, err)
	return string(data)
}

func TestEveryTypeOfEventIsEncoded(t *testing.T) {
	var names []string
	for _, b := range bodies() {
		names = append(names, reflect.TypeOf(b).Name())
	}
	require.ElementsMatch(t, declared(t), names, "a type is missing in the list of this test")
	tags := map[string]bool{}
	for i, e := range full(t) {
		for _, e := range []event.Event{e, {Body: bodies()[i]}, {Time: moment, Body: bodies()[i]}} {
			data := encode(t, e)
			got, err := event.Decode([]byte(data))
			require.NoError(t, err, data)
			require.Equal(t, e, got, data)
			assert.NotContains(t, data, "\n")
		}
		var l struct{ Type string }
		require.NoError(t, json.Unmarshal([]byte(encode(t, e)), &l))
		assert.False(t, tags[l.Type], "two types have the name %s", l.Type)
		tags[l.Type] = true
	}
}

// TestEveryFieldIsEncodedAlone finds a field that is only written beside another.
func TestEveryFieldIsEncodedAlone(t *testing.T) {
	for _, e := range full(t) {
		v := reflect.ValueOf(e.Body)
		for i := range v.NumField() {
			one := reflect.New(v.Type()).Elem()
			one.Field(i).Set(v.Field(i))
			e := event.Event{Body: one.Interface().(event.Body)}
			data := encode(t, e)
			got, err := event.Decode([]byte(data))
			require.NoError(t, err, data)
			require.Equal(t, e, got, data)
		}
	}
}

func TestEncodingIsStable(t *testing.T) {
	var lines []string
	for i, e := range full(t) {
		lines = append(lines, encode(t, e), encode(t, event.Event{Body: bodies()[i]}))
	}
	golden(t, "testdata/events.jsonl", lines)
}

// alone has values with one field set, for each field of v and of the structs in it.
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

// variants are events whose encoding is more than their fields.
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

// TestEncodingOfFieldsIsStable compares with what the first version of the codec wrote.
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
	slices.Sort(lines) // the order of fields in Go is not what is compared
	golden(t, "testdata/fields.jsonl", lines)
}

// golden compares lines with those of a file.
func golden(t *testing.T, file string, lines []string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	want := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	require.Len(t, lines, len(want), "a new type comes with -update")
	for i := range want {
		require.Equal(t, want[i], lines[i], "what is stored in this version could not be read any more; a new field comes with -update")
	}
}

func TestStoredValuesAreNormalized(t *testing.T) {
	e, err := event.Decode([]byte(`{"v":1,"type":"question.asked","body":{"deadline":"2026-01-01T00:30:00+01:00","form":{"fields":[{"default":["a"]},{"default":["a",1]},{"default":[]}]}}}`))
	require.NoError(t, err)
	assert.Equal(t, event.QuestionAsked{Question: event.Question{
		Deadline: time.Date(2025, 12, 31, 23, 30, 0, 0, time.UTC),
		Form:     &event.Form{Fields: []event.Field{{Default: []string{"a"}}, {Default: []any{"a", 1.0}}, {Default: []string{}}}},
	}}, e.Body)
	e, err = event.Decode([]byte(`{"v":1,"type":"question.answered","body":{"answer":{"fields":{"a":["x"],"b":[1],"c":null}}}}`))
	require.NoError(t, err)
	assert.Equal(t, event.QuestionClosed{Answer: event.Answer{Fields: map[string]any{"a": []string{"x"}, "b": []any{1.0}, "c": nil}}}, e.Body)
}

// TestTextsAreMaskedAndCounted has a credential in every text: which are masked, and what each event costs, is in a file.
func TestTextsAreMaskedAndCounted(t *testing.T) {
	var lines []string
	for _, e := range full(t) {
		withTokens(reflect.ValueOf(&e.Body).Elem())
		before := encode(t, e)
		var m event.Masker
		masked := []event.Event{{Body: m.Mask("", e.Body)}}
		if masked[0].Body == nil {
			masked = m.Owed(event.RunEnded{})
		}
		require.Len(t, masked, 1)
		line := fmt.Sprintf("%d %s", event.Cost(e), encode(t, masked[0]))
		lines = append(lines, strings.ReplaceAll(line, token, "TOKEN"))
		require.Equal(t, before, encode(t, e), "what the agent is told stays whole")
	}
	golden(t, "testdata/masked.txt", lines)
}

// token has the shape of a credential and is none.
const token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

// withTokens puts something like a credential behind each text.
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

func TestEncodedEvents(t *testing.T) {
	tests := []struct {
		name  string
		event event.Event
		want  string
	}{
		{"what is empty is left out", event.Event{Body: event.SessionClosed{}}, `{"v":1,"type":"session.closed"}`},
		{
			"a delta",
			event.Event{Time: moment, Run: "r", Body: event.MessageDelta{ID: "m", Text: "a\t<b>\u2028"}},
			`{"v":1,"type":"message.delta","time":"2026-02-03T04:05:06.789012345Z","run":"r","body":{"id":"m","text":"a\t<b>\u2028"}}`,
		},
		{
			"a time of another zone",
			event.Event{Time: time.Date(2026, 1, 1, 0, 30, 0, 0, time.FixedZone("", 3600)), Body: event.RunStarted{}},
			`{"v":1,"type":"run.started","time":"2025-12-31T23:30:00Z"}`,
		},
		{
			"raw JSON of several lines",
			event.Event{Body: event.Notice{Kind: "k", Raw: json.RawMessage("{\n \"a\": 1.0 }\n")}},
			`{"v":1,"type":"notice","body":{"kind":"k","raw":{"a":1.0}}}`,
		},
		{
			"raw JSON that is none",
			event.Event{Body: event.ToolStarted{Arguments: json.RawMessage("{\"a")}},
			`{"v":1,"type":"tool.started","body":{"arguments":"{\"a"}}`,
		},
		{
			"raw JSON that says that there is nothing",
			event.Event{Body: event.ToolStarted{Arguments: json.RawMessage("null")}},
			`{"v":1,"type":"tool.started","body":{"arguments":null}}`,
		},
		{
			"a text that is no UTF-8",
			event.Event{Body: event.MessageDelta{Text: "a\xffb"}},
			`{"v":1,"type":"message.delta","body":{"text":"a�b"}}`,
		},
		{
			"a notice that only seems to be an event",
			event.Event{Body: event.Notice{Kind: event.NoticeLater, Raw: json.RawMessage(`{"v":1,"type":"run.started"}`)}},
			`{"v":1,"type":"notice","body":{"kind":"portal.later_event","raw":{"v":1,"type":"run.started"}}}`,
		},
		{
			"a notice that only seems to be later",
			event.Event{Run: "r", Body: event.Notice{Kind: event.NoticeLater, Raw: json.RawMessage(`{"v":2,"type":"x"}`)}},
			`{"v":1,"type":"notice","run":"r","body":{"kind":"portal.later_event","raw":{"v":2,"type":"x"}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := encode(t, tt.event)
			assert.Equal(t, tt.want, data)
			got, err := event.Decode([]byte(data))
			require.NoError(t, err)
			assert.Equal(t, data, encode(t, got))
		})
	}
}

func TestUnencodableEventsAreRejected(t *testing.T) {
	for name, e := range map[string]event.Event{
		"no body":                    {},
		"a pointer to a body":        {Body: &event.RunStarted{}},
		"a year of five digits":      {Time: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC), Body: event.RunStarted{}},
		"a deadline of five digits":  {Body: event.QuestionAsked{Question: event.Question{Deadline: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)}}},
		"a number that is none":      {Body: event.UsageChanged{Multiplier: math.NaN()}},
		"a value that is none":       {Body: event.QuestionClosed{Answer: event.Answer{Fields: map[string]any{"f": func() {}}}}},
		"a bound that has no bounds": {Body: event.QuestionClosed{Answer: event.Answer{Fields: map[string]any{"f": math.Inf(1)}}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := event.Encode(e)
			require.Error(t, err)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
}

func TestEventOfLaterVersionIsPreserved(t *testing.T) {
	for name, data := range map[string]string{
		"a type":                      `{"v":1,"type":"tool.paused","time":"2026-02-03T04:05:06.789012345Z","run":"r1","agent":"a1","body":{"id":"t"}}`,
		"a field of a body":           `{"v":1,"type":"message.delta","time":"2026-02-03T04:05:06.789012345Z","run":"r1","agent":"a1","body":{"id":"m", "text":"x","lang":"de"}}`,
		"a field deep in a body":      `{"v":1,"type":"tool.ended","time":"2026-02-03T04:05:06.789012345Z","run":"r1","agent":"a1","body":{"id":"t","result":{"content":"x","image":"AA=="}}}`,
		"a field beside the body":     `{"v":1,"type":"run.started","time":"2026-02-03T04:05:06.789012345Z","run":"r1","agent":"a1","host":"h"}`,
		"a version":                   `{"v":2,"type":"run.started","time":"2026-02-03T04:05:06.789012345Z","run":"r1","agent":"a1","body":[1, 2 ]}`,
		"a version with another body": `{"v":3,"type":"message.delta","time":"2026-02-03T04:05:06.789012345Z","run":"r1","agent":"a1","body":{"text":["x"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			line := []byte(data + "\n")
			got, err := event.Decode(line)
			require.NoError(t, err)
			clear(line)
			want := event.Notice{Kind: event.NoticeLater, Raw: json.RawMessage(data)}
			assert.Equal(t, event.Event{Time: moment, Run: "r1", Agent: "a1", Body: want}, got)
			assert.Equal(t, data, encode(t, got), "it is written as it was")
		})
	}
}

func TestInvalidEventsAreRejected(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":              "",
		"no JSON":              "{",
		"no object":            "[]",
		"null":                 "null",
		"no version":           `{"type":"run.started"}`,
		"version 0":            `{"v":0,"type":"run.started"}`,
		"no type":              `{"v":1}`,
		"an end that is cut":   `{"v":1,"type":"message.delta","body":{"id":"m","te`,
		"more than one":        `{"v":1,"type":"run.started"} {"v":1,"type":"run.started"}`,
		"several lines":        "{\"v\":1,\n\"type\":\"run.started\"}",
		"a time that is none":  `{"v":1,"type":"run.started","time":"yesterday"}`,
		"a body that is none":  `{"v":1,"type":"message.delta","body":[]}`,
		"a field that is none": `{"v":1,"type":"message.delta","body":{"text":1}}`,
		"bytes that are none":  `{"v":1,"type":"user.message","body":{"attachments":[{"data":"%"}]}}`,
		"depth":                `{"v":1,"type":"notice","body":{"raw":` + strings.Repeat("[", 20000) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			e, err := event.Decode([]byte(data))
			require.Error(t, err)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
			assert.Zero(t, e)
		})
	}
}

// FuzzDecodeEvent: what can be read can be written, and is the same from then on.
func FuzzDecodeEvent(f *testing.F) {
	golden, err := os.ReadFile("testdata/events.jsonl")
	require.NoError(f, err)
	for line := range bytes.Lines(golden) {
		f.Add(line)
	}
	f.Add([]byte(`{"v":2,"type":"x","time":"9999-12-31T23:59:59-05:00","body": [1] }`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := event.Decode(data)
		if err != nil {
			return
		}
		first := encode(t, e)
		assert.NotContains(t, first, "\n")
		again, err := event.Decode([]byte(first))
		require.NoError(t, err, first)
		assert.Equal(t, first, encode(t, again))
		assert.IsType(t, e.Body, again.Body)
	})
}

// FuzzEncodeEvent compares what is written by hand with what encoding/json reads.
func FuzzEncodeEvent(f *testing.F) {
	f.Add("m1", "a word\n\"\\\t\x00\x7f\u2028\u2029\xff\xed\xa0\x80🙂", "r1", "")
	f.Fuzz(func(t *testing.T, id, text, run, agent string) {
		data := encode(t, event.Event{Run: run, Agent: agent, Body: event.ReasoningDelta{ID: id, Text: text}})
		require.True(t, utf8.ValidString(data))
		var got struct {
			Run, Agent string
			Body       struct{ ID, Text string }
		}
		require.NoError(t, json.Unmarshal([]byte(data), &got))
		valid := func(s string) string { return string([]rune(s)) }
		assert.Equal(t, []string{valid(run), valid(agent), valid(id), valid(text)}, []string{got.Run, got.Agent, got.Body.ID, got.Body.Text})
	})
}

// BenchmarkCodec measures what it costs to encode and to decode an event.
func BenchmarkCodec(b *testing.B) {
	const id = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
	for name, body := range map[string]event.Body{
		"delta":          event.MessageDelta{ID: id, Text: " reader \"goes\"\n"},
		"delta of 1 KiB": event.MessageDelta{ID: id, Text: strings.Repeat("every reader goes on ", 49)},
		"tool":           event.ToolStarted{ID: id, Name: "bash", Arguments: json.RawMessage(`{"command":"ls | wc -l"}`)},
		"run":            event.RunStarted{},
	} {
		e := event.Event{Time: moment, Run: id, Body: body}
		data := []byte(encode(b, e))
		b.Run("encode/"+name, func(b *testing.B) {
			for b.Loop() {
				_, _ = event.Encode(e)
			}
		})
		b.Run("decode/"+name, func(b *testing.B) {
			for b.Loop() {
				_, _ = event.Decode(data)
			}
		})
	}
}
