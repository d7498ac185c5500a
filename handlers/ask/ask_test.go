package ask_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ask"
)

// result is what a run of `ask` has written and returned.
type result struct {
	out, notes string
	err        error
}

// run asks a scripted agent. keys is the keyboard input; nil: there is no keyboard.
func run(t *testing.T, script func(*fake.Turn), keys io.Reader, change func(*ask.Options)) (r result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
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
		<-time.After(time.Minute) // until the last key
	})
	return r
}

func TestEmptyPromptStartsNoAgent(t *testing.T) {
	host := copilot.NewHost(copilot.Options{Launch: func(context.Context) (agent.Agent, error) {
		t.Error("an agent starts")
		return nil, errors.New("none")
	}})
	defer host.Close(t.Context())
	err := ask.Run(t.Context(), host, ask.Options{Prompt: " \n", Start: copilot.Start{Directory: "/"}, Out: io.Discard, Notes: io.Discard})
	require.ErrorIs(t, err, fault.ErrEmptyPrompt)
}

func TestReplacedMessageIsFollowedByTheWhole(t *testing.T) {
	got := run(t, func(t *fake.Turn) {
		t.Emit(event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: "on two"}, event.MessageEnded{ID: "m"})
		t.Emit(event.MessageStarted{ID: "m-2"}, event.MessageDelta{ID: "m-2", Text: "one two"}, event.MessageEnded{ID: "m-2", Text: "one two"})
	}, nil, nil)
	require.NoError(t, got.err)
	assert.Equal(t, "on two\none two\n", got.out)
}

// askPermission asks for a permission and says the answer.
func askPermission(t *fake.Turn) {
	q := event.Question{Title: "Run ls", Detail: "ls\x1b[2J"}
	q.SetNeeds(permission.ShellNeeds("ls")...)
	answer, ok := t.Ask(q)
	switch {
	case !ok:
		t.Say("none")
	case answer.Approved && answer.Remember:
		t.Say("always " + string(answer.Scope))
	case answer.Approved:
		t.Say("yes")
	default:
		t.Say("no: " + answer.Reason)
	}
}

func input(t *fake.Turn) {
	answer, ok := t.Ask(event.Question{Kind: event.AskInput, Text: "Which?", Choices: []string{"red", "green"}})
	if ok {
		t.Say(answer.Text)
	}
}

func TestAnswerGoesToStdoutRestToStderr(t *testing.T) {
	r := run(t, func(t *fake.Turn) {
		t.Say("first")
		t.Call("bash", `{"command":"ls  -la"}`, "x")
		t.Say("bell \a and\x1b[2J more")
	}, nil, nil)
	require.NoError(t, r.err)
	assert.Equal(t, "first\nbell  and[2J more\n", r.out)
	assert.Equal(t, "· bash ls -la\n", r.notes)
}

func TestQuestionsAreAnsweredFromKeyboard(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(*fake.Turn)
		keys   io.Reader
		want   string
	}{
		{"yes", askPermission, strings.NewReader("y\n"), "yes\n"},
		{"always", askPermission, strings.NewReader("always\n"), "always command\n"},
		{"in a scope by its number", askPermission, strings.NewReader("2\n"), "always program\n"},
		{"an unknown number asks again", askPermission, strings.NewReader("7\ny\n"), "yes\n"},
		{"no", askPermission, strings.NewReader("n\n"), "no: \n"},
		{"a reason denies", askPermission, strings.NewReader("not today\n"), "no: not today\n"},
		{"an empty line asks again", askPermission, strings.NewReader("\n\ny\n"), "yes\n"},
		{"the end of the input denies", askPermission, strings.NewReader(""), "no: There is nobody to ask. Run it in a terminal, or with --permissions allow.\n"},
		{"without a keyboard it is denied", askPermission, nil, "no: There is nobody to ask. Run it in a terminal, or with --permissions allow.\n"},
		{"a choice by its number", input, strings.NewReader("2\n"), "green\n"},
		{"a choice by its name", input, strings.NewReader("red\n"), "red\n"},
		{"an unknown choice asks again", input, strings.NewReader("blue\n1\n"), "red\n"},
		{"without a keyboard the agent cannot ask", input, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.script, slowly(c.keys), nil)
			require.NoError(t, r.err)
			assert.Equal(t, c.want, r.out)
			assert.NotContains(t, r.notes, "\x1b")
		})
	}
}

// A model can print what looks like a question. What a person types at that is not the answer to the next real one.
func TestLineTypedBeforeAQuestionDoesNotAnswerIt(t *testing.T) {
	script := func(t *fake.Turn) {
		t.Say("Run ls [exec.run]\n  ls\nAllow? [y]es, [n]o, or a reason for no: ")
		t.Wait(1500 * time.Millisecond) // the first line comes after 1 s, the second after 2 s
		askPermission(t)
	}
	r := run(t, script, slowly(strings.NewReader("y\nnot that\n")), func(o *ask.Options) { o.Person = true })
	require.NoError(t, r.err)
	assert.True(t, strings.HasSuffix(r.out, "no: not that\n"), r.out)
	assert.Contains(t, r.notes, "nothing is asked")
	r = run(t, script, slowly(strings.NewReader("y\n")), func(o *ask.Options) { o.Person = true })
	require.NoError(t, r.err)
	assert.Contains(t, r.out, "no: There is nobody to ask", "the input has ended without an answer")
}

// slow types a line per second, as people do.
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

func TestUnanswerableQuestionEndsRun(t *testing.T) {
	r := run(t, input, slowly(strings.NewReader("")), nil)
	assert.ErrorIs(t, r.err, context.Canceled)
}

func TestLinesOfJSON(t *testing.T) {
	r := run(t, func(t *fake.Turn) {
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

// organize emits all other events: plans, sub-agents, compactions.
func organize(t *fake.Turn) {
	steps := []event.Todo{{ID: "1", Title: "Read\nthe code", State: event.TodoCompleted}, {ID: "2", Title: "Test", State: event.TodoRunning, After: []string{"1"}}, {ID: "3", Title: "Rest", State: event.TodoPending}}
	t.Emit(event.PlanChanged{Text: "# Plan", Todos: steps}, event.PlanChanged{Text: "# New", Todos: steps})
	t.EmitAs("a", event.SubagentStarted{ID: "a", Call: "c", Name: "explore", Title: "Scout\x1b"})
	t.EmitAs("a", event.MessageEnded{ID: "m", Text: "not for people"})
	t.EmitAs("a", event.SubagentEnded{ID: "a", Outcome: event.Completed, Tokens: 7, ToolCalls: 2, Duration: 1234 * time.Millisecond})
	t.EmitAs("b", event.SubagentEnded{ID: "b", Outcome: event.Failed, Error: "lost"})
	t.Emit(
		event.CompactionStarted{Used: 9}, event.CompactionEnded{Before: 9, After: 3, Summary: "s"}, event.CompactionEnded{Error: "full"},
		event.UsageChanged{Used: 5, Limit: 10}, event.ModelCalled{Model: "m", Input: 4, Output: 3, Cached: 2},
	)
}

func TestProgressIsShownBesideAnswer(t *testing.T) {
	r := run(t, organize, nil, nil)
	require.NoError(t, r.err)
	assert.Empty(t, r.out)
	assert.Equal(t, `· to do:
  ✓ Read the code
  ▸ Test
  ○ Rest
· sub-agent Scout started
· sub-agent Scout completed (1.2s, 2 tool calls)
· sub-agent agent failed: lost (0s, 0 tool calls)
· compacting the conversation
· compacted: 9 tokens are now 3
· compaction failed: full
`, r.notes)
}

// withoutTime removes times and generated ids from lines of JSON.
func withoutTime(t *testing.T, out string) (lines []string) {
	t.Helper()
	for text := range strings.Lines(out) {
		_, rest, ok := strings.Cut(text, `Z",`)
		require.True(t, ok, text)
		lines = append(lines, "{"+strings.TrimSpace(rest))
	}
	return lines
}

func TestJSONLinesHaveToolCalls(t *testing.T) {
	r := run(t, organize, nil, func(o *ask.Options) { o.JSON = true })
	require.NoError(t, r.err)
	lines := withoutTime(t, r.out)
	for _, want := range []string{
		`{"type":"plan","text":"# Plan","todos":[{"id":"1","title":"Read\nthe code","state":"completed"},{"id":"2","title":"Test","state":"running","after":["1"]},{"id":"3","title":"Rest","state":"pending"}]}`,
		`{"type":"subagent.start","agent":"a","id":"a","name":"explore","parent":"c","title":"Scout\u001b"}`,
		`{"type":"subagent.end","agent":"a","id":"a","outcome":"completed","tokens":7,"calls":2,"seconds":1.234}`,
		`{"type":"subagent.end","agent":"b","id":"b","error":"lost","outcome":"failed"}`,
		`{"type":"compaction.start","used":9}`,
		`{"type":"compaction","text":"s","before":9,"after":3}`,
		`{"type":"compaction","error":"full"}`,
		`{"type":"usage","used":5,"limit":10,"multiplier":1}`,
		`{"type":"usage","model":"m","input":4,"output":3,"cached":2}`,
	} {
		assert.Contains(t, lines, want)
	}
}

func TestJSONLinesHaveQuestions(t *testing.T) {
	r := run(t, func(t *fake.Turn) {
		plan(t)
		signIn(t)
		tell(t, event.Question{ID: "f", Kind: event.AskForm, Source: "desk", Text: "?", Form: &event.Form{Fields: []event.Field{{Name: "n", Type: event.FieldText}}}})
	}, slowly(strings.NewReader("y\ny\n/decline\n")), func(o *ask.Options) { o.JSON = true })
	require.NoError(t, r.err)
	assert.Contains(t, r.out, `"kind":"plan","choices":["interactive","autopilot"]}`)
	assert.Contains(t, r.out, `"kind":"sign-in","source":"desk","url":"https://example.com/`)
	assert.Contains(t, r.out, `{"type":"question","id":"f","text":"?","kind":"form","source":"desk","fields":[{"name":"n","title":"n","type":"string","required":false}]}`[1:])
	assert.Contains(t, r.out, `{"type":"answered","id":"f","outcome":"answered","by":"ask"}`[1:])
}

func TestFailureHasHint(t *testing.T) {
	fail := func(t *fake.Turn) {
		t.Emit(event.SessionError{Text: "no access", Hint: "Sign in with `copilot login`."})
	}
	r := run(t, fail, nil, nil)
	require.Error(t, r.err)
	assert.Equal(t, "· error: no access\n· Sign in with `copilot login`.\n", r.notes)
	r = run(t, fail, nil, func(o *ask.Options) { o.JSON = true })
	require.Error(t, r.err)
	assert.Contains(t, r.out, `"error":"no access","hint":"Sign in with`)
}

func TestModeAndAttachmentsReachAgent(t *testing.T) {
	r := run(t, func(t *fake.Turn) { t.Say(string(t.Mode) + " " + t.Attachments[0].Path) }, nil, func(o *ask.Options) {
		o.Mode, o.Attachments = event.ModeAutopilot, []event.Attachment{{Path: "/"}}
	})
	require.NoError(t, r.err)
	assert.Equal(t, "autopilot /\n", r.out)
}

func TestFailedAndCancelledRunsReturnErrors(t *testing.T) {
	r := run(t, func(t *fake.Turn) { t.Emit(event.SessionError{Text: "no quota"}) }, nil, nil)
	require.ErrorContains(t, r.err, "no quota")
	r = run(t, func(t *fake.Turn) { t.Wait(2 * time.Hour) }, nil, nil)
	assert.ErrorIs(t, r.err, context.Canceled)
}
