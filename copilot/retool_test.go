package copilot_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestToolsAreReplaced(t *testing.T) {
	tools := func(names ...string) (list []copilot.Tool) {
		for _, n := range names {
			list = append(list, copilot.Tool{Name: n, Schema: []byte(`{"type":"object"}`), Limit: time.Minute})
		}
		return list
	}
	names := func(c copilottest.Call) (list []string) {
		for _, tool := range c.Opening.Tools {
			list = append(list, tool.Name)
		}
		return list
	}
	tests := []struct {
		name   string
		do     func(w *world, s *copilot.Session)
		tools  []copilot.Tool
		kind   copilot.Kind // of the error; "": there is none
		opened [][]string   // the tools of each conversation, with a prompt behind
	}{
		{"the next prompt takes the conversation up with them", func(*world, *copilot.Session) {}, tools("b"), "", [][]string{{"a"}, {"b"}}},
		{"also with none", func(w *world, s *copilot.Session) { w.run(s, "x") }, nil, "", [][]string{{"a"}, nil}},
		{"the same are no change", func(*world, *copilot.Session) {}, tools("a"), "", [][]string{{"a"}}},
		{"not even during a run", func(w *world, s *copilot.Session) {
			w.agents.Script = func(t *copilottest.Turn) { t.Wait(time.Minute) }
			w.run(s, "x")
		}, tools("a"), "", [][]string{{"a"}}},
		{"others are one", func(w *world, s *copilot.Session) {
			w.agents.Script = func(t *copilottest.Turn) { t.Wait(time.Minute) }
			w.run(s, "x")
		}, tools("b"), copilot.Busy, [][]string{{"a"}}},
		{"what cannot be offered is refused", func(*world, *copilot.Session) {}, tools("b", "b"), copilot.Invalid, [][]string{{"a"}}},
		{"where the process has died", func(w *world, _ *copilot.Session) { w.loseProcess() }, tools("b"), "", [][]string{{"a"}, {"b"}}},
		{"where it dies of the question whether it is at rest", func(w *world, _ *copilot.Session) {
			w.agents.Watched(func(context.Context, copilottest.Call) error {
				w.agents.Kill()
				return errors.New("gone")
			})
		}, tools("b"), "", [][]string{{"a"}, {"b"}}},
		{"not while commands run in the background", func(w *world, _ *copilot.Session) {
			w.agents.Watched(func(_ context.Context, c copilottest.Call) error {
				if c.Method == copilottest.Background {
					return errors.New("cannot tell")
				}
				return nil
			})
		}, tools("b"), copilot.Busy, [][]string{{"a"}}},
		{"not in a closed session", func(_ *world, s *copilot.Session) { _ = s.Close() }, tools("b"), copilot.NotFound, [][]string{{"a"}}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory, Tools: tools("a")})
			require.NoError(w.t, err)
			w.sessions = append(w.sessions, s)
			tt.do(w, s)
			err = s.SetTools(w.t.Context(), tt.tools)
			if tt.kind == "" {
				require.NoError(w.t, err)
				require.NoError(w.t, s.SetTools(w.t.Context(), tt.tools), "once more")
			} else {
				require.Error(w.t, err)
				assert.Equal(w.t, tt.kind, copilot.KindOf(err), "%v", err)
			}
			wait(time.Hour)
			if s.Info().State == copilot.StateIdle {
				w.run(s, "z")
			}
			var got [][]string
			for _, c := range w.agents.Calls(copilottest.Open) {
				got = append(got, names(c))
			}
			assert.Equal(w.t, tt.opened, got)
		})
	}
	inWorld(t, "and nothing is lost of a prompt that comes at the same time", copilot.Options{}, func(w *world) {
		s := w.start()
		for i := range 20 {
			changed := make(chan error, 1)
			go func() { changed <- s.SetTools(context.Background(), tools("a"+string(rune('a'+i)))) }()
			w.prompt(s, "x")
			if err := <-changed; err != nil {
				assert.Equal(w.t, copilot.Busy, copilot.KindOf(err))
			}
			synctest.Wait()
		}
		for _, end := range of[copilot.RunEnded](w.t, s) {
			assert.Equal(w.t, copilot.Completed, end.Outcome)
		}
	})
	inWorld(t, "before the agent was ever asked for", copilot.Options{}, func(w *world) {
		s := w.later("")
		require.NoError(w.t, s.SetTools(w.t.Context(), tools("b")))
		w.run(s, "x")
		assert.Equal(w.t, []string{"b"}, names(w.agents.Calls(copilottest.Open)[0]))
	})
	atHome(t, "they are known in another process, and a session at rest is woken", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		settle()
		require.NoError(t, s.SetTools(t.Context(), tools("b")))
		settle()
		p.kill()
		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		prompt(t, s, "second")
		settle()
		calls := h.agents.Calls(copilottest.Open)
		assert.Equal(t, []string{"b"}, names(calls[len(calls)-1]))
		p.kill()
		p = h.portal()
		defer p.stop()
		require.NoError(t, p.session(s.ID()).SetTools(t.Context(), tools("c")))
		prompt(t, p.session(s.ID()), "third")
		settle()
		calls = h.agents.Calls(copilottest.Open)
		assert.Equal(t, []string{"c"}, names(calls[len(calls)-1]))
		assert.True(t, calls[len(calls)-1].Opening.Resume)
	})
}
