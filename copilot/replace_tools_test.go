package copilot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// toolsNamed returns tools of a client.
func toolsNamed(names ...string) *[]event.Tool {
	list := []event.Tool{}
	for _, n := range names {
		list = append(list, event.Tool{Name: n, Schema: []byte(`{"type":"object"}`), Limit: time.Minute})
	}
	return &list
}

// toolsOpened lists the tools of the opened conversations.
func toolsOpened(agents *fake.Agents) (list [][]string) {
	for _, c := range agents.Calls(fake.Open) {
		var names []string
		for _, tool := range c.Opening.Tools {
			names = append(names, tool.Name)
		}
		list = append(list, names)
	}
	return list
}

func TestPromptCanReplaceTools(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tools  *[]event.Tool
		opened [][]string // the tools of each conversation
	}{
		{"the conversation is opened with them", toolsNamed("b"), [][]string{{"a"}, {"b"}}},
		{"a prompt can remove all tools", toolsNamed(), [][]string{{"a"}, nil}},
		{"equal tools are not a change", toolsNamed("a"), [][]string{{"a"}}},
		{"a prompt without tools keeps the old ones", nil, [][]string{{"a"}}},
	} {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory, Tools: *toolsNamed("a")})
			require.NoError(w.t, err)
			w.sessions = append(w.sessions, s)
			w.run(s, "x")
			wait(time.Hour)
			_, err = s.Prompt(event.Prompt{Text: "y", Tools: tt.tools})
			require.NoError(w.t, err)
			wait(time.Hour)
			w.run(s, "z")
			wait(time.Hour)
			assert.Equal(w.t, tt.opened, toolsOpened(w.agents))
			for _, m := range of[event.UserMessage](w.t, s) {
				assert.Nil(w.t, m.Prompt.Tools)
			}
			for _, end := range of[event.RunEnded](w.t, s) {
				assert.Equal(w.t, event.Completed, end.Outcome)
			}
		})
	}
	inWorld(t, "invalid tools are rejected", copilot.Options{}, func(w *world) {
		_, err := w.start().Prompt(event.Prompt{Text: "y", Tools: toolsNamed("b", "b")})
		assert.Equal(w.t, fault.Invalid, fault.KindOf(err))
	})
	inWorld(t, "a queued prompt replaces them in its turn", copilot.Options{}, func(w *world) {
		s := w.start()
		w.agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		w.prompt(s, "x")
		_, err := s.Prompt(event.Prompt{Text: "y", Tools: toolsNamed("b")})
		require.NoError(w.t, err)
		wait(time.Second)
		assert.Equal(w.t, [][]string{nil}, toolsOpened(w.agents))
		wait(time.Hour)
		assert.Equal(w.t, [][]string{nil, {"b"}}, toolsOpened(w.agents))
	})
	inWorld(t, "before the agent was started", copilot.Options{}, func(w *world) {
		_, err := w.later("").Prompt(event.Prompt{Text: "x", Tools: toolsNamed("b")})
		require.NoError(w.t, err)
		wait(time.Hour)
		assert.Equal(w.t, [][]string{{"b"}}, toolsOpened(w.agents))
	})
	inWorld(t, "they can be set without a prompt, even during a run", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		s := w.start()
		w.prompt(s, "x")
		wait(time.Second)
		require.NoError(w.t, s.SetTools(w.t.Context(), *toolsNamed("b")))
		assert.Equal(w.t, *toolsNamed("b"), s.Tools())
		wait(time.Hour)
		assert.Equal(w.t, [][]string{nil}, toolsOpened(w.agents))
		w.prompt(s, "y")
		wait(time.Hour)
		assert.Equal(w.t, [][]string{nil, {"b"}}, toolsOpened(w.agents))
		assert.Equal(w.t, fault.Invalid, fault.KindOf(s.SetTools(w.t.Context(), *toolsNamed("b", "b"))))
		require.NoError(w.t, s.Close())
		require.NoError(w.t, s.SetTools(w.t.Context(), nil), "of a closed session")
		require.NoError(w.t, s.Reopen(w.t.Context()))
		assert.Equal(w.t, [][]string{nil, {"b"}, nil}, toolsOpened(w.agents))
	})
	inWorld(t, "a tool that needs approval again is asked about", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.UseTool("a", "{}") }
		approved, asked := *toolsNamed("a"), *toolsNamed("a")
		approved[0].NoApproval = true
		s := w.startTools(approved)
		for _, prompt := range []event.Prompt{{Text: "x"}, {Text: "y", Tools: &asked}} {
			_, err := s.Prompt(prompt)
			require.NoError(w.t, err)
			wait(time.Second)
			require.NoError(w.t, s.Cancel(""))
			wait(time.Hour)
		}
		var kinds []event.QuestionKind
		for _, q := range of[event.QuestionAsked](w.t, s) {
			kinds = append(kinds, q.Question.Kind)
		}
		assert.Equal(w.t, []event.QuestionKind{event.AskTool, event.AskPermission}, kinds)
		assert.Equal(w.t, [][]string{{"a"}}, toolsOpened(w.agents), "the conversation is not concerned")
	})
	atHome(t, "they can be set in another process", func(h *home) {
		p := h.portal()
		s := p.start()
		require.NoError(h.t, s.SetTools(h.t.Context(), *toolsNamed("b")))
		settle()
		p.stop()
		p = h.portal()
		again := p.session(s.ID())
		assert.Equal(h.t, *toolsNamed("b"), again.Tools())
		require.NoError(h.t, again.SetTools(h.t.Context(), *toolsNamed("c")), "of a suspended session")
		p.stop()
		p = h.portal()
		defer p.stop()
		assert.Equal(h.t, *toolsNamed("c"), p.session(s.ID()).Tools())
	})
	atHome(t, "they are kept in another process", func(h *home) {
		p := h.portal()
		s := p.start()
		_, err := s.Prompt(event.Prompt{Text: "first", Tools: toolsNamed("b")})
		require.NoError(h.t, err)
		settle()
		p.kill()
		p = h.portal()
		defer p.stop()
		prompt(h.t, p.session(s.ID()), "second")
		settle()
		all := toolsOpened(h.agents)
		assert.Equal(h.t, []string{"b"}, all[len(all)-1])
	})
}
