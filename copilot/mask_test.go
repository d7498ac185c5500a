package copilot_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
)

// token has the shape of a credential and is none.
const token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

func TestWhatLooksLikeACredentialIsNotRecorded(t *testing.T) {
	body := `{"text":"` + token + `"}`
	tests := []struct {
		name   string
		script func(*copilottest.Turn)
	}{
		{"in the prompt", nil},
		{"in a message, a letter a delta", func(t *copilottest.Turn) {
			t.Emit(copilot.MessageStarted{ID: "m"})
			for _, letter := range token + ", I said" {
				t.Emit(copilot.MessageDelta{ID: "m", Text: string(letter)})
			}
			t.Emit(copilot.MessageEnded{ID: "m", Text: token + ", I said"})
		}},
		{"in a message that is cut at its end", func(t *copilottest.Turn) {
			t.Emit(copilot.MessageDelta{ID: "m", Text: token})
		}},
		{"in a thought", func(t *copilottest.Turn) { t.Think("is it " + token + "?") }},
		{"in a tool's arguments, output and result", func(t *copilottest.Turn) { t.Call("bash", body, token) }},
		{"in a tool's error", func(t *copilottest.Turn) {
			t.Emit(copilot.ToolEnded{ID: "t", Error: &copilot.ToolError{Text: token}})
		}},
		{"in a question", func(t *copilottest.Turn) {
			t.Ask(copilot.Question{Names: []string{"exec.run"}, Title: token, Detail: "curl -H " + token})
		}},
		{"in a form", func(t *copilottest.Turn) {
			t.Raise(copilot.Question{Kind: copilot.AskForm, Text: token, Form: &copilot.Form{Fields: []copilot.Field{
				{Name: "list", Title: token, Detail: token, Type: copilot.FieldList, Default: []string{token}},
			}}})
		}},
		{"in a message that goes on after its run", func(t *copilottest.Turn) {
			t.Emit(copilot.MessageDelta{ID: "m", Text: token[:10]})
		}},
		{"in what is rare", func(t *copilottest.Turn) {
			t.Emit(
				copilot.TitleChanged{Title: token}, copilot.Notice{Kind: "x", Raw: json.RawMessage(body)},
				copilot.PlanChanged{Text: token, Todos: []copilot.Todo{{Title: token, Detail: token}}},
				copilot.CompactionEnded{Summary: token, Error: token}, copilot.SessionFailed{Text: token, Hint: token},
				copilot.SubagentEnded{Error: token}, copilot.ServerChanged{Server: copilot.Server{Error: token}},
			)
		}},
	}
	for _, tc := range tests {
		inWorld(t, tc.name, copilot.Options{}, func(w *world) {
			w.agents.Script = tc.script
			s := w.start()
			_, err := s.Prompt(copilot.Prompt{Text: "remember " + token, Attachments: []copilot.Attachment{{Name: "a", Text: token}}})
			require.NoError(w.t, err)
			wait(0)
			if q := of[copilot.QuestionAsked](w.t, s); len(q) > 0 {
				answer := copilot.Answer{Reason: token}
				if q[0].Question.Kind == copilot.AskForm {
					answer = copilot.Answer{Approved: true, Fields: map[string]any{"list": []string{token}}}
				}
				require.NoError(w.t, s.Answer(q[0].Question.ID, answer, "test"))
				wait(0)
			}
			w.agents.Emit(s.ID(), copilot.MessageDelta{ID: "m", Text: token[10:]})
			all, err := json.Marshal(events(w.t, s))
			require.NoError(w.t, err)
			assert.NotContains(w.t, string(all), "16C7e42F")
			assert.NotContains(w.t, s.Info().Title, "16C7e42F")
			assert.Equal(w.t, "remember "+token, w.agents.Calls(copilottest.Send)[0].Prompt, "the agent is told all")
			deltasAddUp(w.t, events(w.t, s))
		})
	}
}

// deltasAddUp holds the texts that have an end to their pieces.
func deltasAddUp(t *testing.T, all []copilot.Event) {
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
		case copilot.MessageDelta:
			piece("m"+b.ID, b.Text)
		case copilot.ReasoningDelta:
			piece("r"+b.ID, b.Text)
		case copilot.MessageEnded:
			assert.Equal(t, b.Text, fmt.Sprint(pieces["m"+b.ID]), "event %d", i)
		case copilot.ReasoningEnded:
			assert.Equal(t, b.Text, fmt.Sprint(pieces["r"+b.ID]), "event %d", i)
		}
	}
}

func TestAClientsToolIsCalledWithWhatTheModelSaid(t *testing.T) {
	inWorld(t, "credentials and all", copilot.Options{Policy: copilot.Policy{"login": copilot.Allow}}, func(w *world) {
		w.agents.Script = func(t *copilottest.Turn) { t.UseTool("login", `{"token":"`+token+`"}`) }
		s := w.startTools([]copilot.Tool{{Name: "login"}})
		w.run(s, "a")
		asked := of[copilot.QuestionAsked](w.t, s)
		require.Len(w.t, asked, 1)
		assert.Contains(w.t, string(asked[0].Question.Arguments), token)
	})
}
