package copilot_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

func TestPlacementSurvivesRestart(t *testing.T) {
	yes, no := true, false
	atHome(t, "of open and closed sessions, without a change of their order", func(h *home) {
		t := h.t
		p := h.portal()
		open, closed := p.start(), p.start()
		require.NoError(t, closed.Close())
		settle()
		changed := open.Info().Changed
		time.Sleep(time.Minute)
		require.NoError(t, open.Place(t.Context(), copilot.Placement{Pinned: &yes}))
		require.NoError(t, closed.Place(t.Context(), copilot.Placement{Archived: &yes, Pinned: &no}))
		settle()
		assert.Equal(t, changed, open.Info().Changed)
		assert.WithinDuration(t, changed, closed.Info().Changed, time.Second)
		p.stop()

		p = h.portal()
		defer p.stop()
		list, _, err := p.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		for _, i := range list {
			assert.Equal(t, i.ID == open.ID(), i.Pinned)
			assert.Equal(t, i.ID == closed.ID(), i.Archived)
		}
		s := p.session(open.ID())
		require.NoError(t, s.Place(t.Context(), copilot.Placement{Archived: &yes}))
		settle()
		assert.True(t, p.session(open.ID()).Info().Pinned, "what is not named stays")
		prompt(t, s, "go on")
		settle()
		assert.False(t, p.session(open.ID()).Info().Archived, "a prompt takes it out of the archive")
	})
}

func TestOutcomeOfLastRunIsListed(t *testing.T) {
	atHome(t, "also after a restart", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		assert.Empty(t, s.Info().Outcome)
		h.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		prompt(t, s, "a")
		assert.Empty(t, s.Info().Outcome)
		require.NoError(t, s.Cancel(""))
		settle()
		assert.Equal(t, event.Cancelled, s.Info().Outcome)
		p.stop()
		p = h.portal()
		defer p.stop()
		list, _, err := p.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		assert.Equal(t, event.Cancelled, list[0].Outcome)
	})
}

func TestOpenQuestionIsListed(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	tests := []struct {
		name string
		ask  event.Question
		want string
	}{
		{"a command", event.Question{Kind: event.AskPermission, Names: []string{permission.Exec}, Title: "Run a command", Detail: "go test \\\n  ./store"}, "Run go test \\ ./store"},
		{"a secret", event.Question{Kind: event.AskPermission, Names: []string{permission.Exec}, Detail: "curl -u " + token}, "Run curl -u ghp_…masked"},
		{"a file", event.Question{Kind: event.AskPermission, Names: []string{permission.Write}, Title: "Write a.go", Detail: "+ a"}, "Write a.go"},
		{"a text", event.Question{Kind: event.AskInput, Text: "Which colour?", Freeform: true}, "Which colour?"},
		{"a long text", event.Question{Kind: event.AskInput, Text: strings.Repeat("ä", 5000), Freeform: true}, "ä…"},
		{"a sign-in", event.Question{Kind: event.AskSignIn, Source: "desk"}, "Sign in to desk"},
		{"a call of a client tool", event.Question{Kind: event.AskTool, Tool: "x"}, ""},
	}
	for _, test := range tests {
		inWorld(t, test.name, copilot.Options{}, func(w *world) {
			w.agents.Script = func(t *fake.Turn) { t.Ask(test.ask) }
			s := w.start()
			w.prompt(s, "a")
			synctest.Wait()
			got := s.Info().WaitsFor
			assert.NotContains(w.t, got, token)
			assert.Contains(w.t, got, test.want)
			assert.Equal(w.t, test.want == "", got == "")
			require.NoError(w.t, s.Cancel(""))
			synctest.Wait()
			assert.Empty(w.t, s.Info().WaitsFor)
		})
	}
}
