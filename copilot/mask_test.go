package copilot_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// token has the form of a credential.
const token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

func TestCredentialsAreMaskedInRecords(t *testing.T) {
	body := `{"text":"` + token + `"}`
	tests := []struct {
		name   string
		script func(*fake.Turn)
	}{
		{"in the prompt", nil},
		{"in a message with one letter per delta", func(t *fake.Turn) {
			t.Emit(event.MessageStarted{ID: "m"})
			for _, letter := range token + ", I said" {
				t.Emit(event.MessageDelta{ID: "m", Text: string(letter)})
			}
			t.Emit(event.MessageEnded{ID: "m", Text: token + ", I said"})
		}},
		{"in a message that is cut off", func(t *fake.Turn) {
			t.Emit(event.MessageDelta{ID: "m", Text: token})
		}},
		{"in a thought", func(t *fake.Turn) { t.Think("is it " + token + "?") }},
		{"in a tool's arguments, output and result", func(t *fake.Turn) { t.Call("bash", body, token) }},
		{"in a tool's error", func(t *fake.Turn) {
			t.Emit(event.ToolEnded{ID: "t", Error: &event.ToolError{Text: token}})
		}},
		{"in a question", func(t *fake.Turn) {
			t.Ask(event.Question{Names: []string{"exec.run"}, Title: token, Detail: "curl -H " + token})
		}},
		{"in a form", func(t *fake.Turn) {
			t.AskAlways(event.Question{Kind: event.AskForm, Text: token, Form: &event.Form{Fields: []event.Field{
				{Name: "list", Title: token, Detail: token, Type: event.FieldList, Default: []string{token}},
			}}})
		}},
		{"in a message that continues after its run", func(t *fake.Turn) {
			t.Emit(event.MessageDelta{ID: "m", Text: token[:10]})
		}},
		{"in rare events", func(t *fake.Turn) {
			t.Emit(
				event.TitleChanged{Title: token}, event.Notice{Kind: "x", Raw: json.RawMessage(body)},
				event.PlanChanged{Text: token, Todos: []event.Todo{{Title: token, Detail: token}}},
				event.CompactionEnded{Summary: token, Error: token}, event.SessionError{Text: token, Hint: token},
				event.ToolStarted{ID: "t", Name: "run " + token}, event.SubagentStarted{Name: token, Title: token}, event.SubagentEnded{Error: token},
				event.ServerChanged{Server: event.Server{Error: token}},
			)
		}},
	}
	for _, tc := range tests {
		inWorld(t, tc.name, copilot.Options{}, func(w *world) {
			w.agents.Script = tc.script
			s := w.start()
			_, err := s.Prompt(event.Prompt{Text: "remember " + token, Attachments: []event.Attachment{{Name: "a", Text: token}}})
			require.NoError(w.t, err)
			wait(0)
			if q := of[event.QuestionAsked](w.t, s); len(q) > 0 {
				answer := event.Answer{Reason: token}
				if q[0].Question.Kind == event.AskForm {
					answer = event.Answer{Approved: true, Fields: map[string]any{"list": []string{token}}}
				}
				require.NoError(w.t, s.Answer(q[0].Question.ID, answer, "test"))
				wait(0)
			}
			w.agents.Emit(s.ID(), event.MessageDelta{ID: "m", Text: token[10:]})
			all, err := json.Marshal(events(w.t, s))
			require.NoError(w.t, err)
			assert.NotContains(w.t, string(all), "16C7e42F")
			assert.NotContains(w.t, s.Info().Title, "16C7e42F")
			assert.Equal(w.t, "remember "+token, w.agents.Calls(fake.Send)[0].Prompt, "the agent receives the whole prompt")
			deltasAddUp(w.t, events(w.t, s))
		})
	}
}

func TestCredentialIsMaskedAcrossRuns(t *testing.T) {
	check := func(w *world, s *copilot.Session) {
		all, err := json.Marshal(events(w.t, s))
		require.NoError(w.t, err)
		assert.NotContains(w.t, string(all), token[12:30])
		deltasAddUp(w.t, events(w.t, s))
	}
	inWorld(t, "in a message that goes on in the next run", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			if t.Prompt == "a" {
				t.Emit(event.MessageDelta{ID: "m", Text: token[:10]})
				t.Wait(time.Second)
				return
			}
			t.Emit(event.MessageDelta{ID: "m", Text: token[10:]})
		}
		s := w.start()
		w.prompt(s, "a")
		w.prompt(s, "b")
		wait(time.Minute)
		check(w, s)
	})
	inWorld(t, "in a message that began before the run", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			t.Emit(event.MessageDelta{ID: "m", Text: token[10:]}, event.MessageEnded{ID: "m", Text: token})
		}
		s := w.start()
		w.agents.Emit(s.ID(), event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: token[:10]})
		w.run(s, "a")
		check(w, s)
	})
	inWorld(t, "and another message with its id is whole", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			t.Emit(event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: t.Prompt})
		}
		s := w.start()
		w.run(s, "a")
		w.run(s, "b")
		assert.Equal(w.t, []event.MessageDelta{{ID: "m", Text: "a"}, {ID: "m", Text: "b"}}, of[event.MessageDelta](w.t, s))
	})
}

// deltasAddUp checks that complete texts equal their deltas.
func deltasAddUp(t *testing.T, all []event.Event) {
	t.Helper()
	pieces := map[string]*strings.Builder{}
	piece := func(key, text string) {
		if pieces[key] == nil {
			pieces[key] = &strings.Builder{}
		}
		pieces[key].WriteString(text)
	}
	for i, e := range all {
		switch b := e.Body.(type) {
		case event.MessageDelta:
			piece("m"+b.ID, b.Text)
		case event.ReasoningDelta:
			piece("r"+b.ID, b.Text)
		case event.MessageEnded:
			assert.Equal(t, b.Text, fmt.Sprint(pieces["m"+b.ID]), "event %d", i)
		case event.ReasoningEnded:
			assert.Equal(t, b.Text, fmt.Sprint(pieces["r"+b.ID]), "event %d", i)
		}
	}
}

func TestClientToolReceivesUnmaskedArguments(t *testing.T) {
	inWorld(t, "including credentials", copilot.Options{Policy: permission.Policy{"login": permission.Allow}}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.UseTool("login", `{"token":"`+token+`"}`) }
		s := w.startTools([]event.Tool{{Name: "login"}})
		w.run(s, "a")
		asked := of[event.QuestionAsked](w.t, s)
		require.Len(w.t, asked, 1)
		assert.Contains(w.t, string(asked[0].Question.Arguments), token)
	})
}
