package ask_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
	"github.com/copilot-portal/portal/handlers/ask"
)

// result is what a run of `ask` left.
type result struct {
	out, notes string
	err        error
}

// run asks a scripted agent. keys is what is typed; nil: nobody is there.
func run(t *testing.T, script func(*copilottest.Turn), keys io.Reader, change func(*ask.Options)) (r result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		agents := copilottest.New()
		agents.Script = script
		host := agents.NewHost(copilot.Options{})
		defer agents.Close()
		defer host.Close(t.Context())
		var out, notes bytes.Buffer
		o := ask.Options{Prompt: "hello there", Start: copilot.Start{Directory: "/", AskUser: true}, Out: &out, Notes: &notes, Keys: keys}
		if change != nil {
			change(&o)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		r.err = ask.Run(ctx, host, o)
		r.out, r.notes = out.String(), notes.String()
		<-time.After(time.Minute) // the last key
	})
	return r
}

// permission asks for one and says how it was answered.
func permission(t *copilottest.Turn) {
	answer, ok := t.Ask(copilot.Question{Names: []string{copilot.PermExec}, Title: "Run ls", Detail: "ls\x1b[2J"})
	switch {
	case !ok:
		t.Say("none")
	case answer.Approved && answer.Remember:
		t.Say("always")
	case answer.Approved:
		t.Say("yes")
	default:
		t.Say("no: " + answer.Reason)
	}
}

func input(t *copilottest.Turn) {
	answer, ok := t.Ask(copilot.Question{Kind: copilot.AskInput, Text: "Which?", Choices: []string{"red", "green"}})
	if ok {
		t.Say(answer.Text)
	}
}

func TestTheAnswerGoesOutAndTheRestBeside(t *testing.T) {
	r := run(t, func(t *copilottest.Turn) {
		t.Say("first")
		t.Call("bash", `{"command":"ls  -la"}`, "x")
		t.Say("bell \a and\x1b[2J more")
	}, nil, nil)
	require.NoError(t, r.err)
	assert.Equal(t, "first\nbell  and[2J more\n", r.out)
	assert.Equal(t, "· bash ls -la\n", r.notes)
}

func TestQuestionsAreAnsweredOnTheKeyboard(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(*copilottest.Turn)
		keys   io.Reader
		want   string
	}{
		{"yes", permission, strings.NewReader("y\n"), "yes\n"},
		{"always", permission, strings.NewReader("always\n"), "always\n"},
		{"no", permission, strings.NewReader("n\n"), "no: \n"},
		{"a reason refuses", permission, strings.NewReader("not today\n"), "no: not today\n"},
		{"an empty line asks again", permission, strings.NewReader("\n\ny\n"), "yes\n"},
		{"the end of the input refuses", permission, strings.NewReader(""), "no: There is nobody to ask. Run it in a terminal, or with --permissions allow.\n"},
		{"without a keyboard it is refused", permission, nil, "no: There is nobody to ask. Run it in a terminal, or with --permissions allow.\n"},
		{"a choice by its number", input, strings.NewReader("2\n"), "green\n"},
		{"a choice by its name", input, strings.NewReader("red\n"), "red\n"},
		{"what is no choice asks again", input, strings.NewReader("blue\n1\n"), "red\n"},
		{"without a keyboard the agent is not offered to ask", input, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.script, slowly(c.keys), nil)
			require.NoError(t, r.err)
			assert.Equal(t, c.want, r.out)
			assert.NotContains(t, r.notes, "\x1b")
		})
	}
}

// slow types a line a second, as people do after they were asked.
type slow struct{ r io.Reader }

func slowly(r io.Reader) io.Reader {
	if r == nil {
		return nil
	}
	return slow{r}
}

func (s slow) Read(b []byte) (int, error) {
	<-time.After(time.Second)
	for n := range b {
		if m, err := s.r.Read(b[n : n+1]); m == 0 || err != nil {
			return n, err
		}
		if b[n] == '\n' {
			return n + 1, nil
		}
	}
	return len(b), nil
}

func TestAQuestionThatNobodyCanAnswerEndsTheRun(t *testing.T) {
	r := run(t, input, slowly(strings.NewReader("")), nil)
	assert.ErrorIs(t, r.err, context.Canceled)
}

func TestLinesOfJSON(t *testing.T) {
	r := run(t, func(t *copilottest.Turn) {
		t.Think("hm")
		t.Say("<ok>")
		t.Call("bash", `{"command":"ls"}`, "x")
	}, nil, func(o *ask.Options) { o.JSON = true })
	require.NoError(t, r.err)
	var types []string
	for line := range strings.Lines(r.out) {
		var d struct{ Type string }
		require.NoError(t, json.Unmarshal([]byte(line), &d))
		types = append(types, d.Type)
	}
	assert.Equal(t, []string{
		"session", "reasoning.delta", "reasoning", "message.delta", "message", "tool.start", "tool.output", "tool.end", "end",
	}, types)
	assert.Contains(t, r.out, `"text":"<ok>"`)
	assert.Empty(t, r.notes)
}

func TestAFailureIsAnErrorAndACutIsCancelled(t *testing.T) {
	r := run(t, func(t *copilottest.Turn) { t.Emit(copilot.SessionFailed{Text: "no quota"}) }, nil, nil)
	require.ErrorContains(t, r.err, "no quota")
	r = run(t, func(t *copilottest.Turn) { t.Wait(2 * time.Hour) }, nil, nil)
	assert.ErrorIs(t, r.err, context.Canceled)
}
