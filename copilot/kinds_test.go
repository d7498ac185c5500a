package copilot_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

func number(n float64) *float64 { return &n }

// form returns a form with a field of each kind.
func form() *event.Form {
	return &event.Form{Fields: []event.Field{
		{Name: "name", Type: event.FieldText, Required: true, Min: number(2), Max: number(4)},
		{Name: "colour", Type: event.FieldText, Choices: []event.Choice{{Value: "r", Title: "Red"}, {Value: "b", Title: "Blue"}}},
		{Name: "ratio", Type: event.FieldNumber, Min: number(0.5), Max: number(1.5)},
		{Name: "count", Type: event.FieldInteger, Min: number(0)},
		{Name: "sure", Type: event.FieldBoolean, Min: number(1)},
		{Name: "tags", Type: event.FieldList, Max: number(2), Choices: []event.Choice{{Value: "x"}, {Value: "y"}, {Value: "z"}}},
	}}
}

// plain returns a valid answer to a question of a kind.
func plain(kind event.QuestionKind) event.Answer {
	if kind == event.AskInput {
		return event.Answer{Text: "a"}
	}
	return event.Answer{}
}

func TestAnswersOfEachKind(t *testing.T) {
	type fields = map[string]any
	filled := func(more fields) event.Answer {
		all := fields{"name": "Ada"}
		for name, value := range more {
			all[name] = value
		}
		return event.Answer{Approved: true, Fields: all}
	}
	text := func(s string) event.Answer { return event.Answer{Text: s} }
	tests := []struct {
		name   string
		kind   event.QuestionKind
		answer event.Answer
		want   string // the error; "": accepted
	}{
		{"a permission has no fields", event.AskPermission, filled(nil), "the question has no fields"},
		{"user input has no fields", event.AskInput, event.Answer{Text: "a", Fields: fields{}}, "the question has no fields"},
		{"user input needs a text", event.AskInput, text(""), "answer this question with text"},
		{"user input is not a permission", event.AskInput, yes, "answer this question with text, not with approve or deny"},
		{"user input is one of the choices", event.AskInput, text("c"), `"c" is not among the choices ["a" "b"]`},
		{"user input declines with a reason", event.AskInput, event.Answer{Reason: "not now"}, ""},
		{"user input does not decline without one", event.AskInput, event.Answer{}, "answer this question with text"},
		{"user input does not decline by an approval", event.AskInput, event.Answer{Approved: true, Reason: "not now"}, "answer this question with text, not with approve or deny"},
		{"a choice is made", event.AskInput, text("a"), ""},

		{"a form is filled in", event.AskForm, filled(nil), ""},
		{"a form is filled in completely", event.AskForm, filled(fields{"colour": "b", "ratio": 1.5, "count": 3.0, "sure": false, "tags": []string{"x", "y"}}), ""},
		{"a form is declined without fields", event.AskForm, event.Answer{Reason: "no"}, ""},
		{"a field must be filled in", event.AskForm, yes, `field "name" is missing`},
		{"a field must be one of the form", event.AskForm, filled(fields{"age": 1.0}), `there is no field "age"`},
		{"a text may be too short", event.AskForm, filled(fields{"name": "A"}), `field "name": at least 2 characters are required`},
		{"a text may be too long", event.AskForm, filled(fields{"name": "Augus"}), `field "name": at most 4 characters are allowed`},
		{"characters count, not bytes", event.AskForm, filled(fields{"name": "Äöüß"}), ""},
		{"a text is not a number", event.AskForm, filled(fields{"name": 1.0}), `field "name": 1 is not a valid string`},
		{"null is not a text", event.AskForm, filled(fields{"colour": nil}), `field "colour": <nil> is not among the choices`},
		{"a text may have choices", event.AskForm, filled(fields{"colour": "Red"}), `field "colour": Red is not among the choices`},
		{"a number may be too small", event.AskForm, filled(fields{"ratio": 0.4}), `field "ratio": at least 0.5 are required`},
		{"a number may be too large", event.AskForm, filled(fields{"ratio": 2.0}), `field "ratio": at most 1.5 are allowed`},
		{"a number is not a text", event.AskForm, filled(fields{"ratio": "1"}), `field "ratio": 1 is not a valid number`},
		{"an integer is whole", event.AskForm, filled(fields{"count": 1.5}), `field "count": 1.5 is not a valid integer`},
		{"a boolean is not a text", event.AskForm, filled(fields{"sure": "yes"}), `field "sure": yes is not a valid boolean`},
		{"a list may be too long", event.AskForm, filled(fields{"tags": []string{"x", "y", "z"}}), `field "tags": at most 2 items are allowed`},
		{"a list may have choices", event.AskForm, filled(fields{"tags": []string{"x", "q"}}), `field "tags": [x q] is not among the choices`},
		{"a list is not a text", event.AskForm, filled(fields{"tags": "x"}), `field "tags": x is not among the choices`},

		{"a sign-in is done", event.AskSignIn, yes, ""},
		{"a sign-in is declined", event.AskSignIn, no, ""},
		{"a sign-in is not a text", event.AskSignIn, text("a"), "answer this question with approve or deny, not text"},

		{"a plan is approved", event.AskPlan, yes, ""},
		{"a plan is approved with one of its choices", event.AskPlan, event.Answer{Approved: true, Text: "b"}, ""},
		{"a plan is not approved with another choice", event.AskPlan, event.Answer{Approved: true, Text: "c"}, `"c" is not among the choices ["a" "b"]`},
		{"a plan is sent back", event.AskPlan, event.Answer{Reason: "shorter"}, ""},
		{"a plan has no fields", event.AskPlan, filled(nil), "the question has no fields"},

		{"a tool gives a result", event.AskTool, text("42"), ""},
		{"a tool gives an empty result", event.AskTool, text(""), ""},
		{"a tool fails", event.AskTool, event.Answer{Failed: true, Reason: "broken"}, ""},
		{"a tool call is not a permission", event.AskTool, yes, "answer this tool call with a result, not an approval"},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			asker := w.asks(event.Question{ID: "q", Kind: tt.kind, Names: []string{"n"}, Choices: []string{"a", "b"}, Form: form(), Tool: "tool"})
			s := w.start()
			w.run(s, "a")
			err := s.Answer("q", tt.answer, "test")
			synctest.Wait()
			if tt.want != "" {
				require.EqualError(w.t, err, tt.want)
				assert.Equal(w.t, fault.Invalid, fault.KindOf(err))
				assert.Empty(w.t, asker.got())
				require.NoError(w.t, s.Answer("q", plain(tt.kind), "test"), "the question is still open")
				return
			}
			require.NoError(w.t, err)
			assert.Equal(w.t, []event.Answer{tt.answer}, asker.got())
		})
	}
}

func TestDeadlines(t *testing.T) {
	kinds := map[event.QuestionKind]event.Answer{ // answers that the agent receives
		event.AskPermission: {Reason: "Nobody answered in time."},
		event.AskInput:      {Reason: "Nobody answered in time."},
		event.AskForm:       {Reason: "Nobody answered in time."},
		event.AskSignIn:     {Reason: "Nobody answered in time."},
		event.AskPlan:       {Reason: "Nobody answered in time."},
		event.AskTool:       {Failed: true, Reason: "The tool gave no result in time."},
	}
	limits := copilot.Options{Limits: copilot.Limits{Question: time.Minute, Tool: time.Minute}}
	for kind, told := range kinds {
		question := event.Question{ID: "q", Kind: kind, Names: []string{"n"}, Choices: []string{"a"}, Form: form(), Tool: "tool"}
		inWorld(t, "an unanswered question expires: "+string(kind), limits, func(w *world) {
			asker := w.asks(question)
			s := w.start()
			w.run(s, "a")
			asked := of[event.QuestionAsked](w.t, s)
			require.Len(w.t, asked, 1)
			assert.True(w.t, asked[0].Question.Deadline.Equal(time.Now().Add(time.Minute)))
			wait(time.Minute - time.Nanosecond)
			assert.Empty(w.t, asker.got())
			wait(time.Nanosecond)
			assert.Equal(w.t, []event.Answer{told}, asker.got())
			assert.Equal(w.t, []event.QuestionClosed{{ID: "q", Kind: kind, Ending: event.Expired}}, of[event.QuestionClosed](w.t, s))
			require.ErrorIs(w.t, s.Answer("q", yes, "test"), fault.ErrAlreadyAnswered)
			assert.Equal(w.t, copilot.StateIdle, s.Info().State)
		})
		inWorld(t, "an answered question does not expire: "+string(kind), limits, func(w *world) {
			w.asks(question)
			s := w.start()
			w.run(s, "a")
			wait(time.Minute - time.Nanosecond)
			answer := plain(kind)
			require.NoError(w.t, s.Answer("q", answer, "test"))
			wait(10 * time.Minute)
			assert.Equal(w.t, []event.QuestionClosed{{ID: "q", Kind: kind, By: "test", Ending: event.Answered, Answer: answer}}, of[event.QuestionClosed](w.t, s))
			assert.Equal(w.t, 1, w.agents.Count(fake.Answer))
		})
	}
	write := event.Question{ID: "q", Names: []string{permission.Write}}
	tests := []struct {
		name    string
		options copilot.Options
		do      func(w *world)
	}{
		{"without a limit a question to a person waits forever", copilot.Options{}, func(w *world) {
			w.asks(write)
			s := w.start()
			w.run(s, "a")
			wait(10 * time.Hour)
			assert.True(w.t, of[event.QuestionAsked](w.t, s)[0].Question.Deadline.IsZero())
			assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
		}},
		{"a tool call has ten minutes", copilot.Options{}, func(w *world) {
			w.asks(event.Question{ID: "q", Kind: event.AskTool, Tool: "tool"})
			s := w.start()
			w.run(s, "a")
			wait(10*time.Minute - time.Nanosecond)
			assert.Equal(w.t, copilot.StateRunning, s.Info().State, "no question to a person is open")
			wait(time.Nanosecond)
			assert.Equal(w.t, copilot.StateIdle, s.Info().State)
		}},
		{"a question that ends with its run does not expire", limits, func(w *world) {
			w.asks(write)
			s := w.start()
			w.run(s, "a")
			require.NoError(w.t, s.Cancel(""))
			wait(10 * time.Minute)
			assert.Equal(w.t, []string{"- opened with model-a", "r1 starts", "r1 user: a", "r1 asks q", "r1 q is cancelled", "r1 cancelled"}, story(w.t, s))
			assert.Zero(w.t, w.agents.Count(fake.Answer))
		}},
		{"a question does not expire after withdrawal, death or close", limits, func(w *world) {
			w.agents.Script = func(t *fake.Turn) {
				q := event.Question{ID: t.Prompt, Kind: event.AskPermission, Names: []string{"n"}}
				t.Emit(event.QuestionAsked{Question: q})
				if t.Prompt == "a" {
					t.Emit(event.QuestionClosed{ID: "a", Ending: event.Withdrawn})
					return
				}
				t.WaitForAbort()
			}
			s := w.start()
			w.run(s, "a")
			w.run(s, "b")
			w.agents.Kill()
			synctest.Wait()
			w.run(s, "c")
			s.Close()
			wait(10 * time.Minute)
			for _, a := range of[event.QuestionClosed](w.t, s) {
				assert.Equal(w.t, event.Withdrawn, a.Ending)
			}
			assert.Len(w.t, of[event.QuestionClosed](w.t, s), 3)
			assert.Zero(w.t, w.agents.Count(fake.Answer))
		}},
		{"the limit of a tool precedes the general one", limits, func(w *world) {
			tools := []event.Tool{{Name: "slow", Limit: time.Hour}, {Name: "usual"}}
			w.agents.Script = func(t *fake.Turn) { t.Ask(event.Question{Kind: event.AskTool, Tool: t.Prompt}) }
			s := w.startTools(tools)
			began := time.Now()
			w.run(s, "slow")
			w.run(s, "usual")
			wait(2 * time.Hour)
			asked := of[event.QuestionAsked](w.t, s)
			require.Len(w.t, asked, 2)
			assert.Equal(w.t, time.Hour, asked[0].Question.Deadline.Sub(began))
			assert.Equal(w.t, time.Hour+time.Minute, asked[1].Question.Deadline.Sub(began))
		}},
		{"an expired question whose answer does not reach the agent fails the run", limits, func(w *world) {
			w.asks(write)
			w.agents.Before = fake.On(fake.Answer, func(context.Context, fake.Call) error { return errors.New("broken") })
			s := w.start()
			w.run(s, "a")
			wait(2 * time.Minute)
			assert.Equal(w.t, []string{
				"- opened with model-a", "r1 starts", "r1 user: a", "r1 asks q", "r1 q is expired", "r1 failure (internal)", "r1 failed",
			}, story(w.t, s))
		}},
		{"either the answer or the deadline ends a question", limits, func(w *world) {
			asker := w.asks(write)
			s := w.start()
			w.run(s, "a")
			time.Sleep(time.Minute)
			err := s.Answer("q", yes, "test")
			synctest.Wait()
			answered := of[event.QuestionClosed](w.t, s)
			require.Len(w.t, answered, 1)
			require.Len(w.t, asker.got(), 1)
			assert.Equal(w.t, err == nil, answered[0].Ending == event.Answered)
			assert.Equal(w.t, err == nil, asker.got()[0].Approved)
		}},
		{"decisions of the policy have no deadline", limits, func(w *world) {
			w.asks(write)
			s := w.startWith(permission.Everywhere(permission.Allow))
			w.run(s, "a")
			wait(10 * time.Minute)
			assert.Empty(w.t, of[event.QuestionClosed](w.t, s))
			assert.Equal(w.t, 1, w.agents.Count(fake.Answer))
		}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, tt.options, tt.do)
	}
}

// startTools starts a session with tools of a client.
func (w *world) startTools(tools []event.Tool) *copilot.Session {
	w.t.Helper()
	s, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory, Tools: tools, AskUser: true})
	require.NoError(w.t, err)
	w.sessions = append(w.sessions, s)
	return s
}

func TestPermit(t *testing.T) {
	write := event.Question{ID: "q", Names: []string{permission.Write}}
	tests := []struct {
		name   string
		policy permission.Policy
		permit permission.Policy
		want   permission.Decision
	}{
		{"allowed permissions are not asked", nil, permission.Policy{permission.Write: permission.Allow}, permission.Allow},
		{"denied permissions are not asked", permission.Everywhere(permission.Allow), permission.Policy{permission.Write: permission.Deny}, permission.Deny},
		{"a rule for all permissions applies", nil, permission.Everywhere(permission.Allow), permission.Allow},
		{"the new rule replaces one in another case", permission.Policy{"FS.Write": permission.Deny}, permission.Policy{"fs.write": permission.Allow}, permission.Allow},
		{"other rules stay", permission.Policy{"fs.write": permission.Deny}, permission.Everywhere(permission.Allow), permission.Deny},
		{"of rules that differ only in case the strictest applies", nil, permission.Policy{"fs.write": permission.Allow, "FS.write": permission.Deny, "fs.WRITE": permission.Ask}, permission.Deny},
		{"no rules change nothing", nil, nil, permission.Ask},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			asker := w.asks(write)
			s, other := w.startWith(tt.policy), w.startWith(permission.Everywhere(permission.Ask))
			before := len(tt.permit)
			require.NoError(w.t, s.SetRules(tt.permit))
			assert.Len(w.t, tt.permit, before)
			w.run(s, "a")
			switch tt.want {
			case permission.Ask:
				assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
			case permission.Allow, permission.Deny:
				require.Len(w.t, asker.got(), 1)
				assert.Equal(w.t, tt.want == permission.Allow, asker.got()[0].Approved)
			}
			w.run(other, "a")
			assert.Equal(w.t, copilot.StateWaiting, other.Info().State, "it applies to one session only")
		})
	}
	inWorld(t, "an open question stays open", copilot.Options{}, func(w *world) {
		w.asks(write)
		s := w.start()
		w.run(s, "a")
		require.NoError(w.t, s.SetRules(permission.Everywhere(permission.Allow)))
		synctest.Wait()
		assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
	})
	inWorld(t, "at any time", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			for range 50 {
				t.Ask(event.Question{Names: []string{permission.Write}})
			}
		}
		s := w.startWith(permission.Everywhere(permission.Allow))
		w.prompt(s, "a")
		for i := range 50 {
			require.NoError(w.t, s.SetRules(permission.Policy{permission.Write: []permission.Decision{permission.Allow, permission.Deny}[i%2]}))
		}
		synctest.Wait()
		assert.Equal(w.t, copilot.StateIdle, s.Info().State)
	})
}

func TestTools(t *testing.T) {
	type tools = []event.Tool
	object := json.RawMessage(`{"type":"object"}`)
	for name, tt := range map[string]struct {
		tools tools
		want  string // the error; "": accepted
	}{
		"a name with all allowed characters":          {tools{{Name: "My-tool_2.x", Schema: object}}, ""},
		"no schema":                                   {tools{{Name: "a"}}, ""},
		"no name":                                     {tools{{}}, `"" is not a valid tool name: use up to 64 letters, digits, _, - and dots`},
		"a name with a space":                         {tools{{Name: "a b"}}, `"a b" is not a valid tool name: use up to 64 letters, digits, _, - and dots`},
		"a name with a line break":                    {tools{{Name: "a\n"}}, `"a\n" is not a valid tool name: use up to 64 letters, digits, _, - and dots`},
		"a name with other letters":                   {tools{{Name: "ä"}}, `"ä" is not a valid tool name: use up to 64 letters, digits, _, - and dots`},
		"the wildcard as a name":                      {tools{{Name: "*"}}, `"*" is not a valid tool name: use up to 64 letters, digits, _, - and dots`},
		"two tools with one name":                     {tools{{Name: "a"}, {Name: "a"}}, `the tools "a" and "a" would have the same name for the model`},
		"two tools that the model cannot distinguish": {tools{{Name: "a.b"}, {Name: "c"}, {Name: "a_b"}}, `the tools "a.b" and "a_b" would have the same name for the model`},
		"a schema that is not an object":              {tools{{Name: "a", Schema: json.RawMessage(`[]`)}}, `the schema of the tool "a" is not a JSON object`},
		"a null schema":                               {tools{{Name: "a", Schema: json.RawMessage(`null`)}}, `the schema of the tool "a" is not a JSON object`},
		"a schema that is empty":                      {tools{{Name: "a", Schema: json.RawMessage{}}}, `the schema of the tool "a" is not a JSON object`},
		"a schema that is not JSON":                   {tools{{Name: "a", Schema: json.RawMessage(`{`)}}, `the schema of the tool "a" is not a JSON object`},
		"a negative limit":                            {tools{{Name: "a", Limit: -1}}, `the time limit of the tool "a" is negative`},
	} {
		inWorld(t, "tools that are declared: "+name, copilot.Options{}, func(w *world) {
			s, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory, Tools: tt.tools})
			if tt.want != "" {
				require.EqualError(w.t, err, tt.want)
				assert.Equal(w.t, fault.Invalid, fault.KindOf(err))
				assert.Zero(w.t, w.agents.Count(fake.Open))
				wait(time.Minute)
				assert.Zero(w.t, w.agents.Running(), "a lease is still held")
				return
			}
			require.NoError(w.t, err)
			assert.Equal(w.t, tt.tools, w.agents.Calls(fake.Open)[0].Opening.Tools)
			s.Close()
		})
	}
	assert.Equal(t, "my_tool_x", event.Tool{Name: "my.tool.x"}.Alias())
	uses := func(w *world) *copilot.Session {
		w.agents.Script = func(t *fake.Turn) {
			result, ok := t.UseTool("shop.buy", `{"n":1}`)
			t.Say(map[bool]string{true: "got ", false: "no "}[ok] + result)
		}
		return w.startTools(tools{{Name: "shop.buy"}})
	}
	inWorld(t, "a tool is allowed by name, then awaits its result", copilot.Options{}, func(w *world) {
		s := uses(w)
		require.NoError(w.t, s.SetRules(permission.Policy{"shop": permission.Allow}))
		w.run(s, "a")
		asked := of[event.QuestionAsked](w.t, s)
		require.Len(w.t, asked, 1)
		q := asked[0].Question
		assert.Equal(w.t, event.AskTool, q.Kind)
		assert.Equal(w.t, "shop.buy", q.Tool)
		assert.JSONEq(w.t, `{"n":1}`, string(q.Arguments))
		assert.Equal(w.t, copilot.StateRunning, s.Info().State, "no question to a person is open")
		require.NoError(w.t, s.Answer(q.ID, event.Answer{Text: "it"}, "test"))
		synctest.Wait()
		assert.Contains(w.t, story(w.t, s), "r1 says: got it")
		w.loseProcess()
		w.run(s, "b")
		assert.Equal(w.t, "shop.buy", w.agents.Calls(fake.Open)[1].Opening.Tools[0].Name, "the tool is declared again")
	})
	inWorld(t, "a denied tool is not called", copilot.Options{}, func(w *world) {
		s := uses(w)
		require.NoError(w.t, s.SetRules(permission.Policy{"shop.buy": permission.Deny}))
		w.run(s, "a")
		assert.Empty(w.t, of[event.QuestionAsked](w.t, s))
		assert.Contains(w.t, strings.Join(story(w.t, s), "\n"), "r1 says: no ")
	})
	inWorld(t, "a person and a tool are asked at the same time", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			t.Emit(
				event.QuestionAsked{Question: event.Question{ID: "t", Kind: event.AskTool}},
				event.QuestionAsked{Question: event.Question{ID: "p", Kind: event.AskPlan}},
			)
			t.WaitForAbort()
		}
		s := w.start()
		w.run(s, "a")
		assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
		require.NoError(w.t, s.Answer("p", yes, "test"))
		assert.Equal(w.t, copilot.StateRunning, s.Info().State)
		require.NoError(w.t, s.Answer("t", no, "test"))
		assert.Equal(w.t, copilot.StateRunning, s.Info().State)
	})
	inWorld(t, "only permissions are remembered", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			t.AskAlways(event.Question{ID: t.Prompt, Kind: event.QuestionKind(t.Prompt), Names: []string{"n"}, Tool: "n"})
		}
		s := w.start()
		for _, kind := range []event.QuestionKind{event.AskForm, event.AskSignIn, event.AskPlan, event.AskTool} {
			w.run(s, string(kind))
			require.NoError(w.t, s.Answer(string(kind), event.Answer{Approved: kind != event.AskTool, Remember: true}, "test"))
			synctest.Wait()
		}
		w.run(s, string(event.AskPermission))
		assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
	})
}
