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
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
)

// second is an agent besides the first one, with the models other/a and other/b.
type second struct {
	*fake.Agents

	health agent.Health
	can    []agent.Capability
}

func newSecond() *second {
	a := fake.New()
	a.Models = []agent.Model{{ID: "other/a", Name: "Other A", Multiplier: 1}, {ID: "other/b", Name: "Other B", Multiplier: 1}}
	return &second{Agents: a, can: agent.Capabilities()}
}

func (s *second) named() copilot.NamedAgent {
	return copilot.NamedAgent{
		Name: "other", Launch: s.Launch, Health: func() agent.Health { return s.health },
		Models:       func() []agent.Model { return s.Models[:1] }, // the process has more
		Capabilities: func() []agent.Capability { return s.can },
	}
}

// withSecond runs a test with two agents in a bubble.
func withSecond(t *testing.T, name string, o copilot.Options, test func(*world, *second)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		other := newSecond()
		o.Agents = []copilot.NamedAgent{other.named()}
		bubble(t, o, func(w *world) {
			w.t.Cleanup(other.Close) // after the host
			test(w, other)
		})
	})
}

// startOn starts a session with a model.
func (w *world) startOn(model string) *copilot.Session {
	w.t.Helper()
	s, err := w.host.Start(w.t.Context(), copilot.Start{Origin: "test", Model: model, Directory: w.directory})
	require.NoError(w.t, err)
	w.sessions = append(w.sessions, s)
	return s
}

func modelIDs(models []agent.Model) (list []string) {
	for _, m := range models {
		list = append(list, m.ID)
	}
	return list
}

func TestSessionRunsOnTheAgentOfItsModel(t *testing.T) {
	withSecond(t, "an agent with a name", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		s := w.startOn("other/b")
		w.run(s, "hi")
		assert.Equal(t, 1, other.Count(fake.Send))
		assert.Zero(t, w.agents.Count(fake.Launch), "the first agent does not start")
		assert.Equal(t, "other/b", other.Calls(fake.Open)[0].Opening.Model)
		assert.Equal(t, "other", s.Info().Agent)
		assert.Equal(t, 1, w.host.Stats().Agents.Running)
	})
	withSecond(t, "the first one", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		s := w.startOn("model-b")
		w.run(s, "hi")
		assert.Equal(t, 1, w.agents.Count(fake.Send))
		assert.Zero(t, other.Count(fake.Launch))
		assert.Empty(t, s.Info().Agent)
	})
	withSecond(t, "that of the default model", copilot.Options{Model: "other/b"}, func(w *world, other *second) {
		t := w.t
		w.run(w.startOn(""), "hi")
		assert.Equal(t, "other/b", other.Calls(fake.Open)[0].Opening.Model)
	})
	withSecond(t, "the one that is installed", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		w.agents.SetHealth(agent.HealthMissing)
		w.run(w.startOn(""), "hi")
		assert.Equal(t, "other/a", other.Calls(fake.Open)[0].Opening.Model)
	})
	withSecond(t, "later, without waiting for it", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		s, err := w.host.Start(t.Context(), copilot.Start{Origin: "test", Model: "other/b", Directory: w.directory, WithoutAgent: true})
		require.NoError(t, err)
		assert.Equal(t, "other", s.Info().Agent)
		w.run(s, "hi")
		assert.Equal(t, "other/b", other.Calls(fake.Open)[0].Opening.Model)
	})
	withSecond(t, "none", copilot.Options{}, func(w *world, _ *second) {
		t := w.t
		for _, model := range []string{"third/a", "other/c"} {
			_, err := w.host.Start(t.Context(), copilot.Start{Model: model, Directory: w.directory})
			require.ErrorIs(t, err, fault.ErrModelNotFound, model)
			_, err = w.host.FindModel(t.Context(), model)
			require.ErrorIs(t, err, fault.ErrModelNotFound)
		}
	})
}

func TestDefaultModelOfAnAgentIsItsFirst(t *testing.T) {
	withSecond(t, "also when the models are known", copilot.Options{}, func(w *world, _ *second) {
		assert.Equal(w.t, "other/a", w.startOn("other/default").Info().Model)
		m, err := w.host.FindModel(w.t.Context(), "other/default")
		require.NoError(w.t, err)
		assert.Equal(w.t, "other/a", m.ID)
		_, err = w.host.Start(w.t.Context(), copilot.Start{Origin: "test", Model: "other/unknown", Directory: w.directory})
		require.ErrorIs(w.t, err, fault.ErrModelNotFound)
	})
}

func TestModelsOfAllAgentsAreListed(t *testing.T) {
	withSecond(t, "after those of the first", copilot.Options{}, func(w *world, _ *second) {
		t := w.t
		models, err := w.host.Models(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"model-a", "model-b", "other/a"}, modelIDs(models))
		assert.Equal(t, []string{"", "", "other"}, []string{models[0].Agent, models[1].Agent, models[2].Agent})
		_, err = w.host.FindModel(t.Context(), "other/b")
		require.NoError(t, err, "one that is known when the agent has started")
	})
	withSecond(t, "except of missing agents", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		other.health.State = agent.HealthMissing
		models, err := w.host.Models(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"model-a", "model-b"}, modelIDs(models))
	})
	withSecond(t, "without those of a first agent that does not start", copilot.Options{}, func(w *world, _ *second) {
		t := w.t
		w.agents.Before = fake.On(fake.Launch, func(context.Context, fake.Call) error { return errors.New("no") })
		models, err := w.host.Models(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"other/a"}, modelIDs(models))
		_, err = w.host.FindModel(t.Context(), "other/a")
		require.NoError(t, err)
	})
	withSecond(t, "the default first", copilot.Options{Model: "other/a"}, func(w *world, _ *second) {
		t := w.t
		models, err := w.host.Models(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"other/a", "model-a", "model-b"}, modelIDs(models))
	})
}

func TestBegunSessionStaysWithItsAgent(t *testing.T) {
	withSecond(t, "after a prompt", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		for _, models := range [][2]string{{"model-a", "other/a"}, {"other/a", "model-a"}} {
			s := w.startOn(models[0])
			w.run(s, "hi")
			err := s.SetModel(t.Context(), models[1])
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
			require.ErrorContains(t, err, "start a new session")
			assert.Equal(t, models[0], s.Info().Model)
		}
		s := w.startOn("other/a")
		w.run(s, "hi")
		require.NoError(t, s.SetModel(t.Context(), "other/b"), "a model of the same agent")
		require.NoError(t, s.SetModel(t.Context(), "Other A"), "a known name of the same agent")
		assert.Equal(t, "other/b", other.Calls(fake.SetModel)[0].Model)
	})
	withSecond(t, "but moves before the first prompt", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		s := w.startOn("model-a")
		require.NoError(t, s.SetModel(t.Context(), "other/a"))
		require.NoError(t, s.SetModel(t.Context(), "other/b"))
		assert.Equal(t, "other", s.Info().Agent)
		w.run(s, "hi")
		opening := other.Calls(fake.Open)[0].Opening
		assert.Equal(t, "other/b", opening.Model)
		assert.False(t, opening.Resume)
		assert.Zero(t, w.agents.Held(), "the conversation with the first agent is closed")
		assert.Empty(t, of[event.SessionError](t, s))
	})
	withSecond(t, "and its fork does, too", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		s := w.startOn("other/a")
		w.run(s, "hi")
		run := s.Info().Run
		w.run(s, "again")
		_, _, err := w.host.Resend(t.Context(), s.ID(), s.Info().Run, copilot.Resend{Model: "model-a"})
		require.ErrorContains(t, err, "start a new session")
		fork, err := w.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		require.NoError(t, err)
		assert.Equal(t, "other", fork.Info().Agent)
		assert.Equal(t, 1, other.Count(fake.Fork))
		first, _, err := w.host.Resend(t.Context(), s.ID(), run, copilot.Resend{Model: "model-a"})
		require.NoError(t, err, "without an earlier prompt there is nothing to copy")
		synctest.Wait()
		assert.Empty(t, first.Info().Agent)
		assert.Equal(t, 1, w.agents.Count(fake.Send))
	})
}

func TestAgentForgetsDeletedSession(t *testing.T) {
	withSecond(t, "its own", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		s := w.startOn("other/a")
		w.run(s, "hi")
		require.NoError(t, w.host.Delete(t.Context(), s.ID()))
		assert.Equal(t, s.ID(), other.Calls(fake.Forget)[0].Session)
		assert.Zero(t, w.agents.Count(fake.Forget))
	})
}

// onlyPrompts are the capabilities of an agent that answers prompts.
func onlyPrompts(other *second) { other.can = nil }

func TestOperationsNeedCapabilities(t *testing.T) {
	withSecond(t, "of the session's agent", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		onlyPrompts(other)
		tools := []event.Tool{{Name: "mine", Description: "does something"}}
		_, err := w.host.Start(t.Context(), copilot.Start{Model: "other/a", Directory: w.directory, Tools: tools})
		require.ErrorContains(t, err, "the agent other cannot use client tools")
		s := w.startOn("other/a")
		w.run(s, "hi")
		before := len(other.Calls())
		for what, do := range map[string]func() error{
			"cannot compact a conversation": func() error { _, err := s.Compact(); return err },
			"cannot copy a conversation":    func() error { _, err := w.host.Fork(t.Context(), s.ID(), copilot.Cut{}); return err },
			"cannot use client tools":       func() error { return s.SetTools(t.Context(), tools) },
			"cannot sign in to MCP servers": func() error { _, err := s.SignIn(t.Context(), "x"); return err },
			"cannot work in another mode":   func() error { _, err := s.Prompt(event.Prompt{Text: "x", Mode: event.ModePlan}); return err },
			"cannot take a prompt into":     func() error { _, err := s.SendQueued("x"); return err },
		} {
			err := do()
			assert.Equal(t, fault.Invalid, fault.KindOf(err), what)
			require.ErrorContains(t, err, "the agent other "+what)
		}
		assert.Len(t, other.Calls(), before, "the agent gets no call")
		assert.Empty(t, s.Capabilities())
		require.ErrorContains(t, s.SetModel(t.Context(), "other/b"), "cannot change the model")
	})
	withSecond(t, "and without steering a prompt is queued", copilot.Options{}, func(w *world, other *second) {
		t := w.t
		onlyPrompts(other)
		other.Script = func(turn *fake.Turn) { turn.Wait(time.Second) }
		s := w.startOn("other/a")
		first := w.prompt(s, "hi")
		synctest.Wait()
		run, err := s.Prompt(event.Prompt{Text: "more", Steer: true})
		require.NoError(t, err)
		assert.NotEqual(t, first, run)
		wait(3 * time.Second)
		assert.Equal(t, 2, other.Count(fake.Send))
	})
}

func TestStoredSessionReturnsToItsAgent(t *testing.T) {
	directory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, other := fake.New(), newSecond()
		defer first.Close()
		defer other.Close()
		var id string
		serve := func(agents []copilot.NamedAgent, use func(*copilot.Host)) {
			kept, err := store.Open(t.Context(), store.Options{Directory: directory})
			require.NoError(t, err)
			defer kept.Close()
			h := first.NewHost(copilot.Options{Agents: agents, Store: kept})
			defer h.Close(t.Context())
			use(h)
		}
		both := []copilot.NamedAgent{other.named()}
		serve(both, func(h *copilot.Host) {
			s, err := h.Start(t.Context(), copilot.Start{Model: "other/a", Directory: "/"})
			require.NoError(t, err)
			id = s.ID()
			_, err = s.Prompt(event.Prompt{Text: "hi"})
			require.NoError(t, err)
			synctest.Wait()
		})
		serve(both, func(h *copilot.Host) {
			s, err := h.Session(t.Context(), id)
			require.NoError(t, err)
			_, err = s.Prompt(event.Prompt{Text: "again"})
			require.NoError(t, err)
			wait(time.Second)
			assert.True(t, other.Calls(fake.Open)[1].Opening.Resume)
			assert.Equal(t, 2, other.Count(fake.Send))
		})
		serve(nil, func(h *copilot.Host) {
			s, err := h.Session(t.Context(), id)
			require.NoError(t, err)
			_, err = s.Prompt(event.Prompt{Text: "and again"})
			assert.Equal(t, fault.Unavailable, fault.KindOf(err))
			require.ErrorContains(t, err, `the agent "other" of this session is not configured: add it to agents`)
		})
		serve(both, func(h *copilot.Host) {
			wait(2 * time.Hour)
			n, err := h.DeleteExpired(t.Context(), time.Hour, 0)
			require.NoError(t, err)
			assert.Equal(t, 1, n)
			assert.Equal(t, id, other.Calls(fake.Forget)[0].Session)
		})
		assert.Zero(t, first.Count(fake.Launch))
	})
}
