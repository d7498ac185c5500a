package event_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// declared returns the names of all body types: those with a visit method.
func declared(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Name.Name == "visit" && m.Recv != nil && m.Type.Results != nil {
				names = append(names, m.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	return names
}

func encode(tb testing.TB, e event.Event) string {
	tb.Helper()
	data, err := event.Encode(e)
	require.NoError(tb, err)
	return string(data)
}

func TestEveryTypeOfEventIsEncoded(t *testing.T) {
	var names []string
	for _, b := range event.Bodies() {
		names = append(names, reflect.TypeOf(b).Name())
	}
	require.ElementsMatch(t, declared(t), names, "a type without a row in kinds")
	tags := map[string]bool{}
	for i, e := range full(t) {
		for _, e := range []event.Event{e, {Body: event.Bodies()[i]}, {Time: moment, Body: event.Bodies()[i]}} {
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

// TestEveryFieldIsEncodedAlone finds fields that are only encoded together with others.
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

func TestEncodedEvents(t *testing.T) {
	tests := []struct {
		name  string
		event event.Event
		want  string
	}{
		{"empty values are omitted", event.Event{Body: event.SessionClosed{}}, `{"v":1,"type":"session.closed"}`},
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
			"invalid raw JSON",
			event.Event{Body: event.ToolStarted{Arguments: json.RawMessage("{\"a")}},
			`{"v":1,"type":"tool.started","body":{"arguments":"{\"a"}}`,
		},
		{
			"raw JSON null",
			event.Event{Body: event.ToolStarted{Arguments: json.RawMessage("null")}},
			`{"v":1,"type":"tool.started","body":{"arguments":null}}`,
		},
		{
			"a text with invalid UTF-8",
			event.Event{Body: event.MessageDelta{Text: "a\xffb"}},
			`{"v":1,"type":"message.delta","body":{"text":"a�b"}}`,
		},
		{
			"a notice that resembles an event",
			event.Event{Body: event.Notice{Kind: event.NoticeLater, Raw: json.RawMessage(`{"v":1,"type":"run.started"}`)}},
			`{"v":1,"type":"notice","body":{"kind":"portal.later_event","raw":{"v":1,"type":"run.started"}}}`,
		},
		{
			"a notice that resembles a later event",
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
		"no body":                     {},
		"a pointer to a body":         {Body: &event.RunStarted{}},
		"a year of five digits":       {Time: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC), Body: event.RunStarted{}},
		"a deadline of five digits":   {Body: event.QuestionAsked{Question: event.Question{Deadline: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)}}},
		"a number that is NaN":        {Body: event.UsageChanged{Multiplier: math.NaN()}},
		"a value without an encoding": {Body: event.QuestionClosed{Answer: event.Answer{Fields: map[string]any{"f": func() {}}}}},
		"an infinite number":          {Body: event.QuestionClosed{Answer: event.Answer{Fields: map[string]any{"f": math.Inf(1)}}}},
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
			assert.Equal(t, data, encode(t, got), "it is encoded unchanged")
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
		"a truncated line":     `{"v":1,"type":"message.delta","body":{"id":"m","te`,
		"two events on a line": `{"v":1,"type":"run.started"} {"v":1,"type":"run.started"}`,
		"several lines":        "{\"v\":1,\n\"type\":\"run.started\"}",
		"an invalid time":      `{"v":1,"type":"run.started","time":"yesterday"}`,
		"an invalid body":      `{"v":1,"type":"message.delta","body":[]}`,
		"an invalid field":     `{"v":1,"type":"message.delta","body":{"text":1}}`,
		"invalid bytes":        `{"v":1,"type":"user.message","body":{"attachments":[{"data":"%"}]}}`,
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

// FuzzDecodeEvent checks that every event that can be decoded can be encoded, and is stable from then on.
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

// FuzzEncodeEvent compares the handwritten encoding with encoding/json.
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

// BenchmarkCodec measures encoding and decoding an event.
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

func TestDeltaIsKnownByItsEncoding(t *testing.T) {
	for _, e := range full(t) {
		key, end := event.Group(e)
		line := encode(t, e)
		assert.Equal(t, key != "" && !end, event.IsDelta([]byte(line)), line)
	}
	assert.False(t, event.IsDelta(nil))
}
