package ask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/ask"
)

// tell asks a question and says the answer.
func tell(t *fake.Turn, q event.Question) {
	answer, ok := t.AskAlways(q)
	if !ok {
		return
	}
	b, _ := json.Marshal(answer.Fields)
	switch {
	case answer.Approved && q.Kind == event.AskForm:
		t.Say(string(b))
	case answer.Approved:
		t.Say("approved " + answer.Text)
	default:
		t.Say("refused " + answer.Reason)
	}
}

func form(fields ...event.Field) func(*fake.Turn) {
	return func(t *fake.Turn) {
		tell(t, event.Question{Kind: event.AskForm, Source: "desk", Text: "Who are\x1b[2J you?", Form: &event.Form{Fields: fields}})
	}
}

func TestFormIsFilledInFieldByField(t *testing.T) {
	two := 2.0
	name := event.Field{Name: "name", Title: "Name", Type: event.FieldText, Required: true, Min: &two}
	age := event.Field{Name: "age", Type: event.FieldInteger}
	choices := []event.Choice{{Value: "r", Title: "Red"}, {Value: "g", Title: "Green"}}
	color := event.Field{Name: "color", Type: event.FieldText, Choices: choices}
	list := event.Field{Name: "list", Type: event.FieldList, Choices: choices}
	news := event.Field{Name: "news", Type: event.FieldBoolean, Default: true}
	for _, c := range []struct {
		name   string
		script func(*fake.Turn)
		keys   string
		want   string
	}{
		{"all fields", form(name, age, color, list, news), "Ada\n36\n2\n1, green\nn\n", `{"age":36,"color":"g","list":["r","g"],"name":"Ada","news":false}`},
		{"empty lines omit optional fields and use defaults", form(name, age, color, list, news), "Ada\n\n\n\n\n", `{"name":"Ada","news":true}`},
		{"a required field is asked for until it has a value", form(name), "\n\nAda\n", `{"name":"Ada"}`},
		{"an invalid value is asked for again", form(name, age), "A\nAda\nold\n1.5\n7\n", `{"age":7,"name":"Ada"}`},
		{"an unknown choice is asked for again", form(color, list), "blue\nr\nr, blue\nRED\n", `{"color":"r","list":["r"]}`},
		{"a boolean needs yes or no", form(news), "maybe\nno\n", `{"news":false}`},
		{"the form is declined", form(name, age), "Ada\n/decline\n", "refused "},
		{"a form without fields needs a yes", form(), "\nperhaps\ny\n", `null`},
		{"or a no", form(), "n\n", "refused "},
		{"the end of the input declines", form(name), "", "refused There is nobody to ask. Run it in a terminal."},
		{"the end of the input declines a half-filled form", form(name, age), "Ada\n", "refused There is nobody to ask. Run it in a terminal."},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.script, slowly(strings.NewReader(c.keys)), nil)
			require.NoError(t, r.err)
			assert.Equal(t, c.want+"\n", r.out)
			assert.NotContains(t, r.notes, "\x1b")
		})
	}
}

func TestFormShowsItsConstraints(t *testing.T) {
	r := run(t, form(
		event.Field{Name: "mail", Title: "Mail\x07", Detail: "where to\nwrite", Type: event.FieldText, Format: "email", Required: true},
		event.Field{Name: "color", Type: event.FieldText, Choices: []event.Choice{{Value: "r", Title: "Red"}}, Default: "r"},
	), slowly(strings.NewReader("a@example.com\n\n")), nil)
	require.NoError(t, r.err)
	assert.Equal(t, `
desk asks: Who are[2J you?
An empty line means the default in brackets, or omits an optional field; /decline declines the form.
Mail (email): where to write
> color (text, optional)
  1  Red
[r] > `, r.notes)
}

func plan(t *fake.Turn) {
	tell(t, event.Question{Kind: event.AskPlan, Text: "# Do\x1b it\n- first", Choices: []string{"interactive", "autopilot"}})
}

func signIn(t *fake.Turn) {
	tell(t, event.Question{Kind: event.AskSignIn, Source: "desk", Text: "Sign in", URL: "https://example.com/\u202elogin"})
}

func TestPlansAndSignInsAreAnsweredFromKeyboard(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(*fake.Turn)
		keys   string
		want   string
		notes  string // part
	}{
		{"yes means the recommended choice", plan, "y\n", "approved ", "  # Do it\n  - first\n  1  interactive\n  2  autopilot\nCarry it out? [y]es (interactive)"},
		{"a choice by its number", plan, "2\n", "approved autopilot", ""},
		{"a choice by its name", plan, "autopilot\n", "approved autopilot", ""},
		{"an unknown number asks again", plan, "7\n\n1\n", "approved interactive", ""},
		{"feedback sends it back", plan, "with tests, please\n", "refused with tests, please", ""},
		{"no", plan, "n\n", "refused ", ""},
		{"the end of the input rejects it after showing it", plan, "", "refused There is nobody to ask. Run it in a terminal.", "- first"},
		{"a page was visited", signIn, "maybe\ny\n", "approved ", "desk asks you to visit a page: Sign in\n  https://example.com/login\n"},
		{"a page was not visited", signIn, "no\n", "refused ", ""},
		{"no one to visit a page", signIn, "", "refused There is nobody to ask. Run it in a terminal.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.script, slowly(strings.NewReader(c.keys)), nil)
			require.NoError(t, r.err)
			assert.Equal(t, c.want+"\n", r.out)
			assert.Contains(t, r.notes, c.notes)
			assert.NotContains(t, r.notes, "\x1b")
		})
	}
}

func TestFastPipeAnswersQuestionsInOrder(t *testing.T) {
	r := run(t, func(t *fake.Turn) {
		plan(t)
		askPermission(t)
		form(event.Field{Name: "n", Type: event.FieldNumber})(t)
		plan(t)
	},
		strings.NewReader("2\ny\n1.5\nno\n"), nil)
	require.NoError(t, r.err)
	assert.Equal(t, "approved autopilot\nyes\n{\"n\":1.5}\nrefused \n", r.out)
}

func TestLongLineOfPipeIsAnAnswer(t *testing.T) {
	text := strings.Repeat("x", 100<<10)
	r := run(t, func(t *fake.Turn) {
		answer, _ := t.AskAlways(event.Question{Kind: event.AskInput, Text: "What?", Freeform: true})
		t.Say(answer.Text)
	}, strings.NewReader(text+"\n"), nil)
	require.NoError(t, r.err)
	assert.Equal(t, text+"\n", r.out)
}

func FuzzFieldValue(f *testing.F) {
	for _, seed := range []string{"", "x", "1", "-1e309", "NaN", "y", "a,,b", "2"} {
		f.Add(seed, seed, 0)
		f.Add("integer", seed, 1)
		f.Add("array", seed, 2)
		f.Add("boolean", seed, 3)
	}
	f.Fuzz(func(t *testing.T, kind, text string, n int) {
		field := event.Field{Name: "f", Type: event.FieldType(kind), Required: n%2 == 0}
		if n%3 == 0 {
			field.Choices = []event.Choice{{Value: "a", Title: "b"}, {Value: "b", Title: "a"}}
		}
		value, err := ask.FieldValue(field, text)
		switch {
		case err != nil:
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		case value == nil:
			assert.True(t, text == "" && !field.Required)
		default:
			assert.NoError(t, field.Check(value))
		}
	})
}
