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
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// later starts a session without an agent.
func (w *world) later(model string) *copilot.Session {
	w.t.Helper()
	s, err := w.host.Start(w.t.Context(), copilot.Start{Origin: "test", Directory: w.directory, Model: model, WithoutAgent: true})
	require.NoError(w.t, err)
	w.sessions = append(w.sessions, s)
	return s
}

// opened returns the models of the openings so far, and whether they resumed a conversation.
func opened(a *fake.Agents) (list []string) {
	for _, c := range a.Calls(fake.Open) {
		line := c.Opening.Model
		if c.Opening.Resume {
			line += " resumed"
		}
		list = append(list, line)
	}
	return list
}

func TestSessionStartsWithoutAgent(t *testing.T) {
	broken := func(context.Context, fake.Call) error { return errors.New("broken") }
	tests := []struct {
		name   string
		model  string
		do     func(w *world, s *copilot.Session)
		want   []string
		opened []string
	}{
		{
			"starts its agent with the first prompt, with the default model", "",
			func(w *world, s *copilot.Session) {
				assert.Zero(w.t, w.agents.Count(fake.Launch))
				assert.Equal(w.t, copilot.StateIdle, s.Info().State)
				assert.Empty(w.t, s.Info().Model)
				w.run(s, "a")
				w.run(s, "b")
				assert.Equal(w.t, "model-a", s.Info().Model)
			},
			[]string{
				"- opened with ", "r1 starts", "r1 user: a", "r1 model model-a", "r1 says: a", "r1 completed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
			[]string{"model-a"},
		},
		{
			"finds its model by display name, with its multiplier", "model b",
			func(w *world, s *copilot.Session) {
				assert.Equal(w.t, "model b", s.Info().Model)
				w.run(s, "a")
				assert.InDelta(w.t, 0.25, s.Info().Usage.Multiplier, 0)
			},
			[]string{"- opened with model b", "r1 starts", "r1 user: a", "r1 model model-b", "r1 says: a", "r1 completed"},
			[]string{"model-b"},
		},
		{
			"does not report a model given by id", "model-b",
			func(w *world, s *copilot.Session) {
				w.run(s, "a")
				assert.InDelta(w.t, 0.25, s.Info().Usage.Multiplier, 0)
			},
			[]string{"- opened with model-b", "r1 starts", "r1 user: a", "r1 says: a", "r1 completed"},
			[]string{"model-b"},
		},
		{
			"fails its runs until its model exists", "none",
			func(w *world, s *copilot.Session) {
				w.run(s, "a")
				w.run(s, "b")
				assert.Equal(w.t, `no such model: "none"`, of[event.RunEnded](w.t, s)[1].Text)
				require.NoError(w.t, s.SetModel(w.t.Context(), "Model B"))
				w.run(s, "c")
			},
			[]string{
				"- opened with none", "r1 starts", "r1 user: a", "r1 failure (invalid)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 failure (invalid)", "r2 failed",
				"- model model-b", "r3 starts", "r3 user: c", "r3 says: c", "r3 completed",
			},
			[]string{"model-b"},
		},
		{
			"fails its run without an agent, and tries again", "",
			func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Launch, broken)
				w.run(s, "a")
				w.agents.Before = nil
				w.run(s, "b")
			},
			[]string{
				"- opened with ", "r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 model model-a", "r2 says: b", "r2 completed",
			},
			[]string{"model-a"},
		},
		{
			"fails its run when the models cannot be listed, and tries again", "",
			func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Models, fake.HangForever)
				w.run(s, "a")
				wait(30 * time.Second)
				w.agents.Before = nil
				w.run(s, "b")
			},
			[]string{
				"- opened with ", "r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 model model-a", "r2 says: b", "r2 completed",
			},
			[]string{"model-a"},
		},
		{
			"resumes a conversation whose opening failed", "",
			func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Open, broken)
				w.run(s, "a")
				wait(time.Second)
				w.agents.Before = nil
				w.run(s, "b")
			},
			[]string{
				"- opened with ", "r1 starts", "r1 user: a", "r1 model model-a", "r1 failure (internal)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
			[]string{"model-a", "model-a resumed"},
		},
		{
			"accepts a model before its first prompt", "none",
			func(w *world, s *copilot.Session) {
				require.ErrorIs(w.t, s.SetModel(w.t.Context(), "nothing"), fault.ErrModelNotFound)
				require.NoError(w.t, s.SetModel(w.t.Context(), "model-b"))
				w.run(s, "a")
			},
			[]string{"- opened with none", "- model model-b", "r1 starts", "r1 user: a", "r1 says: a", "r1 completed"},
			[]string{"model-b"},
		},
		{
			"can be closed and reopened before its first prompt", "Model B",
			func(w *world, s *copilot.Session) {
				require.NoError(w.t, s.Close())
				require.NoError(w.t, s.Reopen(w.t.Context()))
				w.run(s, "a")
			},
			[]string{
				"- opened with Model B", "- closed", "- opened with model-b",
				"r1 starts", "r1 user: a", "r1 says: a", "r1 completed",
			},
			[]string{"model-b"},
		},
		{
			"cannot be reopened with a model that does not exist", "none",
			func(w *world, s *copilot.Session) {
				require.NoError(w.t, s.Close())
				require.ErrorIs(w.t, s.Reopen(w.t.Context()), fault.ErrModelNotFound)
				require.NoError(w.t, s.Resume(w.t.Context()))
			},
			[]string{"- opened with none", "- closed", "- opened with none"},
			nil,
		},
		{
			"is cancelled while its agent starts", "",
			func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Launch, fake.HangForever)
				w.run(s, "a")
				require.NoError(w.t, s.Cancel(""))
				synctest.Wait()
				assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			},
			[]string{"- opened with ", "r1 starts", "r1 user: a", "r1 cancelled"},
			nil,
		},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.later(tt.model)
			tt.do(w, s)
			assert.Equal(w.t, tt.want, story(w.t, s))
			assert.Equal(w.t, tt.opened, opened(w.agents))
		})
	}
}

func TestInvalidStartWithoutAgent(t *testing.T) {
	inWorld(t, "is rejected at once", copilot.Options{Limits: copilot.Limits{Sessions: 1}}, func(w *world) {
		_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: "here", WithoutAgent: true})
		require.ErrorIs(w.t, err, fault.ErrDirectoryNotAbsolute)
		_, err = w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory + "/none", WithoutAgent: true})
		require.ErrorIs(w.t, err, fault.ErrDirectoryNotFound)
		_, err = w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory, Tools: []event.Tool{{Name: "no name"}}, WithoutAgent: true})
		assert.Equal(w.t, fault.Invalid, fault.KindOf(err))
		w.later("")
		_, err = w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory, WithoutAgent: true})
		assert.Equal(w.t, fault.Busy, fault.KindOf(err))
		assert.Zero(w.t, w.agents.Count(fake.Launch))
	})
}

func TestModelIsSetDuringLookup(t *testing.T) {
	for _, first := range []string{"", "none"} {
		inWorld(t, "is the model of the session", copilot.Options{}, func(w *world) {
			s := w.later(first)
			w.agents.Before = fake.On(fake.Models, slowly(time.Second))
			set := make(chan error, 1)
			go func() { set <- s.SetModel(context.Background(), "model-b") }()
			wait(500 * time.Millisecond)
			w.run(s, "a") // looks up its own model a little later
			wait(time.Minute)
			require.NoError(w.t, <-set)
			assert.Equal(w.t, "model-b", s.Info().Model)
			assert.Equal(w.t, []string{"model-b"}, opened(w.agents))
			assert.Equal(w.t, []event.ModelChanged{{Model: "model-b"}}, of[event.ModelChanged](w.t, s))
			assert.Equal(w.t, event.Completed, of[event.RunEnded](w.t, s)[0].Outcome)
		})
	}
}

func TestSessionWithoutAgentSurvivesItsProcess(t *testing.T) {
	for name, end := range endings() {
		atHome(t, "after "+name+" it looks up its model and has nothing to resume", func(h *home) {
			t := h.t
			p := h.portal()
			s, err := p.host.Start(t.Context(), copilot.Start{Directory: h.work, Model: "Model B", WithoutAgent: true})
			require.NoError(t, err)
			settle()
			end(p)

			p = h.portal()
			defer p.stop()
			s = p.session(s.ID())
			assert.Equal(t, "Model B", s.Info().Model)
			prompt(t, s, "first")
			settle()
			assert.Equal(t, "model-b", s.Info().Model)
			assert.Contains(t, plot(t, s), "says: first")
			assert.Equal(t, []string{"model-b"}, opened(h.agents))
			p.kill()

			p = h.portal()
			defer p.stop()
			s = p.session(s.ID())
			prompt(t, s, "second")
			settle()
			assert.Equal(t, []string{"model-b", "model-b resumed"}, opened(h.agents))
			assert.Empty(t, of[event.SessionError](t, s))
		})
	}
	atHome(t, "a fork looks up its model, too", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		s, err := p.host.Start(t.Context(), copilot.Start{Directory: h.work, Model: "none", WithoutAgent: true})
		require.NoError(t, err)
		_, err = p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		require.ErrorIs(t, err, fault.ErrModelNotFound)
		settle()
		list, _, err := p.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		assert.Len(t, list, 1, "failed starts are not kept")
		require.NoError(t, s.SetModel(t.Context(), "model-b"))
		c, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		require.NoError(t, err)
		assert.Equal(t, "model-b", c.Info().Model)
	})
}

func TestFailedStartIsNotStored(t *testing.T) {
	atHome(t, "the agent refuses", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		h.agents.Before = fake.On(fake.Open, func(context.Context, fake.Call) error { return errors.New("no") })
		_, err := p.host.Start(t.Context(), copilot.Start{Directory: h.work})
		require.Error(t, err)
		settle()
		list, _, err := p.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		assert.Empty(t, list)
	})
}

func TestResume(t *testing.T) {
	tests := []struct {
		name   string
		do     func(w *world, s *copilot.Session)
		opened []string
	}{
		{"an open session does not change", func(*world, *copilot.Session) {}, []string{"model-a"}},
		{"a running session does not change", func(w *world, s *copilot.Session) { w.run(s, "a") }, []string{"model-a"}},
		{"a closed session waits for a prompt", func(w *world, s *copilot.Session) {
			w.run(s, "a")
			require.NoError(w.t, s.Close())
		}, []string{"model-a", "model-a resumed"}},
		{"without the agent", func(w *world, s *copilot.Session) {
			require.NoError(w.t, s.Close())
			w.agents.Kill()
			synctest.Wait()
			launched := w.agents.Count(fake.Launch)
			require.NoError(w.t, s.Resume(w.t.Context()))
			synctest.Wait()
			assert.Equal(w.t, launched, w.agents.Count(fake.Launch))
		}, []string{"model-a", "model-a resumed"}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.start()
			tt.do(w, s)
			require.NoError(w.t, s.Resume(w.t.Context()))
			assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			w.run(s, "z")
			told := story(w.t, s)
			assert.Equal(w.t, "says: z", told[len(told)-2][len("rX "):])
			assert.Equal(w.t, tt.opened, opened(w.agents))
		})
	}
	inWorld(t, "is rejected when the portal stops", copilot.Options{}, func(w *world) {
		s := w.start()
		require.NoError(w.t, s.Close())
		w.host.Close(w.t.Context())
		require.ErrorIs(w.t, s.Resume(w.t.Context()), fault.ErrStopping)
	})
	atHome(t, "a suspended session does not change, and one of another process is rejected once closed", func(h *home) {
		t := h.t
		id, a, b := h.suspended()
		defer a.stop()
		defer b.stop()
		s := a.session(id)
		require.NoError(t, s.Resume(t.Context()))
		assert.Zero(t, b.session(s.ID()).Info().Owner)
		require.NoError(t, s.Close())
		settle()
		there := b.session(s.ID())
		require.NoError(t, s.Resume(t.Context()))
		settle()
		require.ErrorIs(t, there.Resume(t.Context()), fault.ErrSessionInUse)
		prompt(t, s, "second")
		settle()
		assert.Contains(t, plot(t, s), "says: second")
	})
}
