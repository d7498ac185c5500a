package copilot_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

// modelTitles returns options in which the model titles sessions of the tests.
func modelTitles() copilot.Options { return copilot.Options{ModelTitles: []string{"test"}} }

func TestModelGivesTitleAfterFirstRun(t *testing.T) {
	for name, c := range map[string]struct{ answer, title string }{
		"a plain one":        {"Rename the herons", "Rename the herons"},
		"a quoted one":       {"\"Rename the herons.\"\n\nIt fits.", "Rename the herons"},
		"one in Markdown":    {"# **Title: Rename <b>`x`</b>**", "Rename <b>`x`</b>"},
		"a credential":       {"Use ghp_0123456789abcdefghijABCDEFGHIJ012345", "Use [redacted]"},
		"none but a lecture": {"I am a large model, and this is what I think about titles, which are short texts above longer ones.", "first"},
		"nothing":            {" \n", "first"},
	} {
		atHome(t, name, func(h *home) {
			t := h.t
			p := h.portalWith(modelTitles())
			defer p.stop()
			h.agents.Script = func(t *fake.Turn) { t.Emit(event.TitleChanged{Title: "first"}); t.Say("done") }
			h.agents.Reply = func(string) (string, error) { return c.answer, nil }
			s := p.start()
			prompt(t, s, "first")
			settle()
			if c.title == "Use [redacted]" {
				assert.NotContains(t, s.Info().Title, "ghp_0123")
			} else {
				assert.Equal(t, c.title, s.Info().Title)
			}
			prompt(t, s, "second")
			settle()
			assert.Equal(t, 1, h.agents.Count(fake.Ask), "once")
		})
	}
}

func TestModelTitleStays(t *testing.T) {
	atHome(t, "although the agent repeats its own when it resumes", func(h *home) {
		t := h.t
		p := h.portalWith(modelTitles())
		h.agents.Script = func(t *fake.Turn) { t.Emit(event.TitleChanged{Title: "first"}); t.Say("done") }
		h.agents.Reply = func(string) (string, error) { return "Herons", nil }
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.kill()
		p = h.portalWith(modelTitles())
		defer p.stop()
		s = p.session(s.ID())
		prompt(t, s, "second")
		settle()
		assert.Equal(t, "Herons", s.Info().Title)
		require.NoError(t, s.Rename(t.Context(), "Mine"))
		assert.Equal(t, "Mine", s.Info().Title)
	})
}

func TestTitleOfUserIsNotOverwritten(t *testing.T) {
	atHome(t, "by the model, which answers later", func(h *home) {
		t := h.t
		p := h.portalWith(modelTitles())
		defer p.stop()
		h.agents.Reply = func(string) (string, error) { time.Sleep(5 * time.Second); return "Herons", nil }
		s := p.start()
		prompt(t, s, "first")
		time.Sleep(time.Second)
		require.NoError(t, s.Rename(t.Context(), "Mine"))
		time.Sleep(10 * time.Second)
		assert.Equal(t, "Mine", s.Info().Title)
	})
}

func TestQuestionForTitleDisturbsNothing(t *testing.T) {
	atHome(t, "not the next run, nor the end", func(h *home) {
		t := h.t
		p := h.portalWith(modelTitles())
		h.agents.Before = func(ctx context.Context, c fake.Call) error {
			if c.Method == fake.Ask {
				return fake.HangForever(ctx, c)
			}
			return nil
		}
		s := p.start()
		prompt(t, s, "first")
		settle()
		prompt(t, s, "second")
		settle()
		assert.Contains(t, plot(t, s), "says: second")
		began := time.Now()
		p.stop()
		assert.Less(t, time.Since(began), 3*time.Second)
	})
	for name, o := range map[string]copilot.Options{"other origins": {ModelTitles: []string{"other"}}, "the setting": {}} {
		atHome(t, "and is not asked for "+name, func(h *home) {
			p := h.portalWith(o)
			defer p.stop()
			prompt(h.t, p.start(), "first")
			settle()
			assert.Zero(h.t, h.agents.Count(fake.Ask))
		})
	}
	atHome(t, "and not after a failure", func(h *home) {
		p := h.portalWith(modelTitles())
		defer p.stop()
		h.agents.Reply = func(string) (string, error) { return "", errors.New("no model") }
		s := p.start()
		prompt(h.t, s, "first")
		settle()
		assert.NotContains(h.t, plot(h.t, s), "failure")
	})
}
