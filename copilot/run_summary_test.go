package copilot_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestLastPromptIsListed(t *testing.T) {
	long := strings.Repeat("ä", 200)
	for text, want := range map[string]string{
		"fix it":                     "fix it",
		" \n fix\r\n\tit \x00 now\n": "fix it now",
		long:                         long,
		long + "b":                   long[:2*199] + "…",
		long + " \n":                 long,
		strings.Repeat("word ", 99):  strings.Repeat("word ", 39) + "word…",
		"the token is ghp_0123456789abcdefghijABCDEFGHIJ012345": "the token is ***",
	} {
		inWorld(t, "on one line", copilot.Options{}, func(w *world) {
			s := w.start()
			w.run(s, text)
			got := s.Info().Prompt
			if strings.Contains(text, "token") {
				assert.NotContains(w.t, got, "ABCDEFGHIJ")
				assert.Contains(w.t, got, "the token is ")
				return
			}
			assert.Equal(w.t, want, got)
		})
	}
}

func TestSessionSummaryIsCurrent(t *testing.T) {
	tests := []struct {
		name    string
		do      func(w *world, s *copilot.Session) (run string)
		prompts int
		prompt  string
	}{
		{"nothing", func(*world, *copilot.Session) string { return "" }, 0, ""},
		{"a run that has ended", func(w *world, s *copilot.Session) string {
			w.run(s, "a")
			run := w.prompt(s, "b")
			synctest.Wait()
			return run
		}, 2, "b"},
		{"a current run with another one queued", func(w *world, s *copilot.Session) string {
			w.agents.Script = untilAborted
			run := w.prompt(s, "a")
			w.run(s, "b")
			return run
		}, 1, "a"},
		{"a prompt that steers", func(w *world, s *copilot.Session) string {
			w.agents.Script = untilAborted
			run := w.prompt(s, "a")
			synctest.Wait()
			_, err := s.Prompt(event.Prompt{Text: "left", Steer: true})
			require.NoError(w.t, err)
			synctest.Wait()
			return run
		}, 2, "left"},
		{"a compaction", func(w *world, s *copilot.Session) string {
			w.run(s, "a")
			run, err := s.Compact()
			require.NoError(w.t, err)
			synctest.Wait()
			return run
		}, 1, "a"},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.start()
			run := tt.do(w, s)
			got := w.listed()[0]
			assert.Equal(w.t, s.Info(), got)
			assert.Equal(w.t, []any{run, tt.prompts, tt.prompt}, []any{got.Run, got.Prompts, got.Prompt})
		})
	}
	atHome(t, "for a suspended session, and a fork", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		settle()
		prompt(t, s, "second")
		settle()
		want := s.Info()
		p.kill()

		p = h.portal()
		defer p.stop()
		list, _, err := p.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		got := list[0]
		assert.Equal(t, []any{want.Run, 2, "second"}, []any{got.Run, got.Prompts, got.Prompt})
		c, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		require.NoError(t, err)
		prompt(t, c, "third")
		settle()
		assert.Equal(t, 3, c.Info().Prompts)
		assert.Equal(t, "second", p.session(s.ID()).Info().Prompt)
	})
	atHome(t, "the run that a kill interrupted", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = untilAborted
		s := p.start()
		prompt(t, s, "first")
		run, err := s.Prompt(event.Prompt{Text: "second"})
		require.NoError(t, err)
		settle()
		p.kill()

		p = h.portal()
		defer p.stop()
		require.NoError(t, p.host.Recover(t.Context()))
		got := p.session(s.ID()).Info()
		assert.Equal(t, []any{run, 2, "second"}, []any{got.Run, got.Prompts, got.Prompt})
	})
}

func TestPromptMetaIsRecorded(t *testing.T) {
	inWorld(t, "is recorded and not sent to the agent", copilot.Options{}, func(w *world) {
		s := w.start()
		meta := json.RawMessage(`{"from": "terminal", "key":"ghp_0123456789abcdefghijABCDEFGHIJ012345"}`)
		_, err := s.Prompt(event.Prompt{Text: "a", Meta: meta})
		require.NoError(w.t, err)
		copy(meta, "XXXX")
		synctest.Wait()
		recorded := of[event.UserMessage](w.t, s)[0].Prompt.Meta
		var got map[string]string
		require.NoError(w.t, json.Unmarshal(recorded, &got))
		assert.Equal(w.t, "terminal", got["from"])
		assert.NotContains(w.t, string(recorded), "ABCDEFGHIJ")
		assert.Equal(w.t, "a", w.agents.Calls(fake.Send)[0].Prompt)
	})
	for meta, ok := range map[string]bool{
		`{}`: true, ` {"a":[1]} `: true, `{"a":"` + strings.Repeat("x", 64<<10-8) + `"}`: true,
		``: false, `null`: false, `[]`: false, `"a"`: false, `{"a"`: false, `{} {}`: false,
		`{"a":"` + strings.Repeat("x", 64<<10-7) + `"}`: false,
	} {
		inWorld(t, "must be an object", copilot.Options{}, func(w *world) {
			s := w.start()
			_, err := s.Prompt(event.Prompt{Text: "a", Meta: json.RawMessage(meta)})
			if ok {
				require.NoError(w.t, err)
				return
			}
			assert.Equal(w.t, fault.Invalid, fault.KindOf(err))
			assert.Zero(w.t, s.Info().Prompts)
		})
	}
	atHome(t, "is stored, even while the prompt is queued", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = untilAborted
		s := p.start()
		prompt(t, s, "first")
		_, err := s.Prompt(event.Prompt{Text: "second", Meta: json.RawMessage(`{"n":1}`)})
		require.NoError(t, err)
		settle()
		p.kill()
		p = h.portal()
		defer p.stop()
		require.NoError(t, p.host.Recover(t.Context()))
		messages := of[event.UserMessage](t, p.session(s.ID()))
		assert.JSONEq(t, `{"n":1}`, string(messages[1].Prompt.Meta))
	})
}
