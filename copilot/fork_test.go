package copilot_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// threeRuns starts a session with three runs, and returns their ids.
func threeRuns(p *portal, s *copilot.Session) (runs []string) {
	p.t.Helper()
	for _, text := range []string{"first", "second", "third"} {
		run, err := s.Prompt(event.Prompt{Text: text})
		require.NoError(p.t, err)
		runs = append(runs, run)
		time.Sleep(time.Second) // of the bubble: the runs start at different times
		settle()
	}
	return runs
}

func TestForkEndsAtRun(t *testing.T) {
	for name, c := range map[string]struct {
		cut  func(runs []string) copilot.Cut
		past []string
	}{
		"after the first run":   {func(r []string) copilot.Cut { return copilot.Cut{After: r[0]} }, []string{"first"}},
		"after the second run":  {func(r []string) copilot.Cut { return copilot.Cut{After: r[1]} }, []string{"first", "second"}},
		"after the last run":    {func(r []string) copilot.Cut { return copilot.Cut{After: r[2]} }, []string{"first", "second", "third"}},
		"before the third run":  {func(r []string) copilot.Cut { return copilot.Cut{Before: r[2]} }, []string{"first", "second"}},
		"before the first run":  {func(r []string) copilot.Cut { return copilot.Cut{Before: r[0]} }, nil},
		"at the end of the log": {func([]string) copilot.Cut { return copilot.Cut{} }, []string{"first", "second", "third"}},
	} {
		atHome(t, name, func(h *home) {
			t := h.t
			p := h.portal()
			defer p.stop()
			s := p.start()
			before := c.cut(threeRuns(p, s))
			original := plot(t, s)
			copied, err := p.host.Fork(t.Context(), s.ID(), before)
			require.NoError(t, err)
			assert.Equal(t, len(c.past), copied.Info().Prompts)
			record := strings.Join(plot(t, copied), "\n")
			for i, text := range []string{"first", "second", "third"} {
				assert.Equal(t, i < len(c.past), strings.Contains(record, "user: "+text), "%s in %s", text, record)
			}
			h.agents.Script = func(t *fake.Turn) { t.Say(fmt.Sprint("after ", t.Past)) }
			prompt(t, copied, "next")
			settle()
			assert.Contains(t, plot(t, copied), "says: "+fmt.Sprint("after ", c.past))
			assert.NotContains(t, strings.Join(plot(t, copied), "\n"), "failure")
			assert.Equal(t, original, plot(t, s), "the original does not change")
		})
	}
	atHome(t, "of the session, and nothing else", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		s := p.start()
		runs := threeRuns(p, s)
		_, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{After: "no run"})
		require.ErrorIs(t, err, fault.ErrRunNotFound)
		_, err = p.host.Fork(t.Context(), s.ID(), copilot.Cut{After: runs[0], Before: runs[1]})
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
	})
}

func TestForkRunsOnProcessOfItsDirectory(t *testing.T) {
	atHome(t, "when each directory has processes of its own", func(h *home) {
		t := h.t
		var started []string
		p := h.portalWith(copilot.Options{LaunchIn: func(ctx context.Context, directory string) (agent.Agent, error) {
			started = append(started, directory)
			return h.agents.Launch(ctx)
		}})
		defer p.stop()
		s := p.start()
		prompt(t, s, "first")
		settle()
		_, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		require.NoError(t, err)
		assert.Equal(t, []string{h.work}, started)
	})
}

func TestForkNamesItsOrigin(t *testing.T) {
	atHome(t, "also after a restart, and its title has a number", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		settle()
		require.NoError(t, s.Rename(t.Context(), "Herons"))
		var forks []*copilot.Session
		for _, title := range []string{"Herons (fork)", "Herons (fork 2)"} {
			f, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
			require.NoError(t, err)
			assert.Equal(t, title, f.Info().Title)
			assert.Equal(t, copilot.ForkOrigin{ID: s.ID(), Title: "Herons"}, f.Info().ForkOf)
			forks = append(forks, f)
		}
		again, err := p.host.Fork(t.Context(), forks[0].ID(), copilot.Cut{})
		require.NoError(t, err)
		assert.Equal(t, "Herons (fork 3)", again.Info().Title)
		assert.Equal(t, copilot.ForkOrigin{ID: forks[0].ID(), Title: "Herons (fork)"}, again.Info().ForkOf)
		require.NoError(t, s.Rename(t.Context(), "Storks"))
		settle()
		p.kill()
		p = h.portal()
		defer p.stop()
		assert.Equal(t, copilot.ForkOrigin{ID: s.ID(), Title: "Herons"}, p.session(forks[0].ID()).Info().ForkOf)
		assert.Empty(t, p.session(s.ID()).Info().ForkOf)
	})
	atHome(t, "with a title of at most 200 characters", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		s := p.start()
		require.NoError(t, s.Rename(t.Context(), strings.Repeat("ä", 200)))
		f, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		require.NoError(t, err)
		assert.LessOrEqual(t, len([]rune(f.Info().Title)), 200)
		assert.True(t, strings.HasSuffix(f.Info().Title, "… (fork)"), f.Info().Title)
	})
}

func TestPromptIsResentInFork(t *testing.T) {
	atHome(t, "from before its run, with its attachments", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		s := p.start()
		prompt(t, s, "first")
		time.Sleep(time.Second)
		settle()
		file := filepath.Join(h.work, "a.txt")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		run, err := s.Prompt(event.Prompt{Text: "second", Mode: event.ModePlan, Attachments: []event.Attachment{{Path: file}}})
		require.NoError(t, err)
		settle()
		original := plot(t, s)
		turns := make(chan *fake.Turn, 1)
		h.agents.Script = func(t *fake.Turn) {
			t.Say(t.Prompt)
			turns <- t
		}
		for _, c := range []struct {
			resend       copilot.Resend
			text, model  string
			isOtherModel bool
		}{
			{copilot.Resend{}, "second", s.Info().Model, false},
			{copilot.Resend{Text: "edited"}, "edited", s.Info().Model, false},
			{copilot.Resend{Model: "model-b"}, "second", "model-b", true},
		} {
			f, newRun, err := p.host.Resend(t.Context(), s.ID(), run, c.resend)
			require.NoError(t, err)
			settle()
			got := <-turns
			assert.NotEqual(t, run, newRun)
			assert.Equal(t, c.text, got.Prompt)
			assert.Equal(t, []string{"first"}, got.Past)
			assert.Equal(t, c.model, got.Model)
			assert.Equal(t, event.ModePlan, got.Mode)
			require.Len(t, got.Attachments, 1)
			assert.Equal(t, file, got.Attachments[0].Path)
			assert.Equal(t, s.ID(), f.Info().ForkOf.ID)
			assert.Equal(t, c.model, f.Info().Model)
		}
		assert.Equal(t, original, plot(t, s), "the original does not change")
	})
	atHome(t, "or not at all", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		s := p.start()
		file := filepath.Join(h.work, "a.txt")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		run, err := s.Prompt(event.Prompt{Text: "first", Attachments: []event.Attachment{{Path: file}}})
		require.NoError(t, err)
		settle()
		_, _, err = p.host.Resend(t.Context(), s.ID(), run, copilot.Resend{Model: "no such model"})
		require.ErrorIs(t, err, fault.ErrModelNotFound)
		_, _, err = p.host.Resend(t.Context(), s.ID(), "no run", copilot.Resend{})
		require.ErrorIs(t, err, fault.ErrRunNotFound)
		require.NoError(t, os.Remove(file))
		_, _, err = p.host.Resend(t.Context(), s.ID(), run, copilot.Resend{})
		assert.Equal(t, fault.Invalid, fault.KindOf(err), "the file is gone")
		compaction, err := s.Compact()
		require.NoError(t, err)
		settle()
		_, _, err = p.host.Resend(t.Context(), s.ID(), compaction, copilot.Resend{})
		assert.Equal(t, fault.Invalid, fault.KindOf(err), "a compaction has no prompt")
		list, _, err := p.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		assert.Len(t, list, 1, "no fork stays behind")
	})
}

func TestForkStopsWithItsCaller(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.start()
		w.run(s, "a")
		ctx, cancel := context.WithCancel(w.t.Context())
		cancel()
		_, err := w.host.Fork(ctx, s.ID(), copilot.Cut{After: "unknown"})
		require.ErrorIs(w.t, err, context.Canceled, "the record is not read")
	})
}
