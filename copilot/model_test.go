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
)

func TestModelsAreFound(t *testing.T) {
	models := []agent.Model{
		{ID: "a/one", Name: "One", Multiplier: 1},
		{ID: "two", Name: "Same", Multiplier: 2},
		{ID: "three", Name: "same", Multiplier: 3},
		{ID: "One", Name: "Odd", Multiplier: 4},
	}
	for name, tt := range map[string]struct{ usual, model, want string }{
		"by its id":                               {"", "three", "three"},
		"by its id in another case":               {"", "THREE", "three"},
		"by its name":                             {"", "Odd", "One"},
		"by its name in another case":             {"", "odd", "One"},
		"by its id rather than another's name":    {"", "One", "One"},
		"as the first of two with the same name":  {"", "SAME", "two"},
		"as the first without a default":          {"", "", "a/one"},
		"as the default":                          {"two", "", "two"},
		"as the default by its name":              {"odd", "", "One"},
		"and not by a prefix":                     {"", "thr", ""},
		"and not with surrounding spaces":         {"", " two ", ""},
		"and not if the default no longer exists": {"gone", "", ""},
	} {
		inWorld(t, "a model is found "+name, copilot.Options{Model: tt.usual}, func(w *world) {
			w.agents.Models = models
			s, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory, Model: tt.model})
			if tt.want == "" {
				require.ErrorIs(w.t, err, fault.ErrModelNotFound)
				require.ErrorContains(w.t, err, "no such model: ")
				return
			}
			require.NoError(w.t, err)
			defer s.Close()
			assert.Equal(w.t, tt.want, s.Info().Model)
			assert.Equal(w.t, tt.want, w.agents.Calls(fake.Open)[0].Opening.Model)
			require.NoError(w.t, s.SetModel(w.t.Context(), "a/ONE"))
			require.NoError(w.t, s.SetModel(w.t.Context(), tt.model))
			assert.Equal(w.t, tt.want, s.Info().Model)
			if tt.model == "" { // the default is listed first
				listed, err := w.host.Models(w.t.Context())
				require.NoError(w.t, err)
				assert.Len(w.t, listed, len(models))
				assert.Equal(w.t, tt.want, listed[0].ID)
			}
		})
	}
	inWorld(t, "there are no models", copilot.Options{}, func(w *world) {
		w.agents.Models = nil
		_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
		require.ErrorIs(w.t, err, fault.ErrModelNotFound)
	})
}

func TestUsage(t *testing.T) {
	tests := []struct {
		name string
		do   func(w *world, s *copilot.Session)
		want copilot.Usage
	}{
		{"without use the model has a multiplier", func(*world, *copilot.Session) {}, copilot.Usage{Multiplier: 1}},
		{"calls are counted, including those of sub-agents and other runs", func(w *world, s *copilot.Session) {
			w.agents.Script = func(t *fake.Turn) {
				t.Emit(event.ModelCalled{Model: "model-a", Input: 10, Output: 1, Cached: 5})
				t.EmitAs("helper", event.ModelCalled{Model: "model-b", Input: 100, Output: 2})
			}
			w.run(s, "a")
			w.run(s, "b")
			assert.Len(w.t, of[event.ModelCalled](w.t, s), 4)
		}, copilot.Usage{Multiplier: 1, Calls: 4, Input: 220, Output: 6}},
		{"only the latest use of the context window counts", func(w *world, s *copilot.Session) {
			w.agents.Emit(s.ID(), event.UsageChanged{Used: 5, Limit: 10}, event.UsageChanged{Used: 3, Limit: 20})
			assert.Equal(w.t, []event.UsageChanged{{Used: 5, Limit: 10, Multiplier: 1}, {Used: 3, Limit: 20, Multiplier: 1}}, of[event.UsageChanged](w.t, s))
		}, copilot.Usage{Used: 3, Limit: 20, Multiplier: 1}},
		{"usage continues after reopening", func(w *world, s *copilot.Session) {
			w.agents.Emit(s.ID(), event.ModelCalled{Input: 1, Output: 1})
			s.Close()
			require.NoError(w.t, s.Reopen(w.t.Context()))
			w.agents.Emit(s.ID(), event.ModelCalled{Input: 1, Output: 1})
		}, copilot.Usage{Multiplier: 1, Calls: 2, Input: 2, Output: 2}},
		{"a model that is set has its own multiplier, though the agent reports only its id", func(w *world, s *copilot.Session) {
			require.NoError(w.t, s.SetModel(w.t.Context(), "Model B"))
			w.agents.Emit(s.ID(), event.UsageChanged{Used: 1, Limit: 2}, event.ModelChanged{Model: "model-b"}, event.UsageChanged{Used: 2, Limit: 2})
			for _, u := range of[event.UsageChanged](w.t, s) {
				assert.InDelta(w.t, 0.25, u.Multiplier, 0)
			}
			assert.Len(w.t, of[event.ModelChanged](w.t, s), 1)
		}, copilot.Usage{Used: 2, Limit: 2, Multiplier: 0.25}},
		{"the multiplier of a model that the agent selects is unknown", func(w *world, s *copilot.Session) {
			require.NoError(w.t, s.SetModel(w.t.Context(), "model-b"))
			w.agents.Emit(s.ID(), event.ModelChanged{Model: "other"})
			assert.Equal(w.t, "other", s.Info().Model)
		}, copilot.Usage{Multiplier: 1}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.start()
			tt.do(w, s)
			synctest.Wait()
			assert.Equal(w.t, tt.want, s.Info().Usage)
		})
	}
}

func TestAccount(t *testing.T) {
	account := agent.Account{SignedIn: true, Login: "ada", Quotas: []agent.Quota{{Name: "chat", Used: 1, Limit: 2}}}
	inWorld(t, "the account is returned, and the process may end afterwards", copilot.Options{}, func(w *world) {
		w.agents.Account = account
		got, err := w.host.Account(w.t.Context())
		require.NoError(w.t, err)
		assert.Equal(w.t, account, got)
		wait(time.Hour)
		assert.Zero(w.t, w.agents.Running())
	})
	inWorld(t, "the agent is unavailable", copilot.Options{}, func(w *world) {
		w.agents.Before = fake.On(fake.Launch, func(context.Context, fake.Call) error { return errors.New("broken") })
		_, err := w.host.Account(w.t.Context())
		assert.Equal(w.t, fault.Unavailable, fault.KindOf(err))
		_, err = w.host.Extensions(w.t.Context(), w.directory)
		assert.Equal(w.t, fault.Unavailable, fault.KindOf(err))
	})
}

func TestExtensionsOfMissingDirectoryAreRejected(t *testing.T) {
	inWorld(t, "no agent is started", copilot.Options{}, func(w *world) {
		for directory, want := range map[string]error{
			w.directory + "/none": fault.ErrDirectoryNotFound, "none": fault.ErrDirectoryNotAbsolute, "/\x00": fault.ErrDirectoryNotFound,
		} {
			_, err := w.host.Extensions(w.t.Context(), directory)
			require.ErrorIs(w.t, err, want)
		}
		assert.Zero(w.t, w.agents.Count(fake.Launch))
	})
}

func TestExtensions(t *testing.T) {
	want := agent.Extensions{Servers: []event.Server{{Name: "files", State: event.ServerConnected}}, Skills: []agent.Skill{{Name: "pdf"}}}
	broken := func(context.Context, fake.Call) error { return errors.New("broken") }
	tests := []struct {
		name     string
		do       func(w *world, s *copilot.Session)
		launches int
		kind     fault.Kind // of the error; "": there is none
	}{
		{"between runs", func(*world, *copilot.Session) {}, 1, ""},
		{"during a run", func(w *world, s *copilot.Session) {
			w.agents.Script = untilAborted
			w.run(s, "a")
		}, 1, ""},
		{"while a question is open", func(w *world, s *copilot.Session) {
			w.asks(event.Question{Names: []string{"n"}})
			w.run(s, "a")
		}, 1, ""},
		{"in a closed session", func(_ *world, s *copilot.Session) { s.Close() }, 1, ""},
		{"when the process has died", func(w *world, _ *copilot.Session) { w.loseProcess() }, 2, ""},
		{"the process dies", func(w *world, _ *copilot.Session) { w.agents.Before = w.kills(fake.Extensions) }, 1, fault.Unavailable},
		{"the agent refuses", func(w *world, _ *copilot.Session) { w.agents.Before = fake.On(fake.Extensions, broken) }, 1, fault.Internal},
		{"the agent hangs and the caller does not wait", func(w *world, _ *copilot.Session) {
			w.agents.Before = fake.On(fake.Extensions, fake.HangForever)
		}, 1, fault.Timeout},
	}
	for _, tt := range tests {
		inWorld(t, "extensions are listed: "+tt.name, copilot.Options{}, func(w *world) {
			w.agents.Extensions = want
			s := w.start()
			tt.do(w, s)
			before := s.Info().State
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
			defer cancel()
			got, err := s.Extensions(ctx)
			if tt.kind == "" {
				require.NoError(w.t, err)
				assert.Equal(w.t, want, got)
			} else {
				assert.Equal(w.t, tt.kind, fault.KindOf(err), "%v", err)
			}
			assert.Equal(w.t, tt.launches, w.agents.Count(fake.Launch))
			assert.Equal(w.t, before, s.Info().State)
		})
	}
}

func TestModelChangesWhileConversationOpens(t *testing.T) {
	inWorld(t, "the next prompt uses it, or the change is rejected", copilot.Options{}, func(w *world) {
		model := ""
		w.agents.Script = func(t *fake.Turn) { model = t.Model }
		s := w.start()
		w.loseProcess()
		first := true
		w.agents.Before = fake.On(fake.Models, func(ctx context.Context, c fake.Call) error {
			if !first {
				return nil
			}
			first = false
			return slowly(time.Second)(ctx, c)
		})
		done := make(chan error, 1)
		go func() { done <- s.SetModel(context.Background(), "model-b") }()
		wait(100 * time.Millisecond)
		w.run(s, "a")
		wait(time.Second)
		require.NoError(w.t, <-done)
		w.run(s, "b")
		assert.Equal(w.t, "model-b", s.Info().Model)
		assert.Equal(w.t, "model-b", model)
	})
}
