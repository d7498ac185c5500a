package copilot_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
)

// follow starts a run and reads it to its end or its first error.
func (w *world) follow(ctx context.Context, s *copilot.Session, with func(*follow.Run)) (*follow.Run, error) {
	w.t.Helper()
	run, err := follow.Session(w.host, s, s.Record().Last()).Prompt(event.Prompt{Text: "Go", By: "test"})
	require.NoError(w.t, err)
	with(run)
	for _, err := range run.Events(ctx) {
		if err != nil {
			return run, err
		}
	}
	return run, nil
}

func asItIs(*follow.Run) {}

func TestFollowedRunIsProjectedToItsEnd(t *testing.T) {
	inWorld(t, "with the last text of the main agent", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			t.Say("First.")
			t.Call("view", `{"path":"a"}`, "text")
			t.Emit(event.ModelCalled{Model: "m", Input: 5, Output: 2})
			t.Say("Last.")
			t.EmitAs("sub", event.MessageEnded{ID: "s", Text: "What a sub-agent says is no answer."})
		}
		run, err := w.follow(w.t.Context(), w.start(), asItIs)
		require.NoError(w.t, err)
		assert.Equal(w.t, event.Completed, run.Outcome)
		assert.Equal(w.t, "Last.", run.Text)
		assert.Equal(w.t, "Go", run.Prompt.Text)
		require.Len(w.t, run.Tools, 1)
		assert.Equal(w.t, "view", run.Tools[0].Name)
		require.Len(w.t, run.Usage, 1)
		assert.EqualValues(w.t, 5, run.Usage[0].Input)
	})
	inWorld(t, "with the reason of its failure", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.Kill() }
		run, err := w.follow(w.t.Context(), w.start(), asItIs)
		require.NoError(w.t, err)
		assert.Equal(w.t, event.Failed, run.Outcome)
		assert.NotEmpty(w.t, run.Reason)
	})
	inWorld(t, "without texts of other runs", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			t.Wait(time.Second)
			t.Say("To " + t.Prompt)
		}
		s := w.start()
		w.prompt(s, "another")
		run, err := w.follow(w.t.Context(), s, asItIs)
		require.NoError(w.t, err)
		assert.Equal(w.t, "To Go", run.Text)
	})
}

func TestFollowedRunIsCancelledWithItsContext(t *testing.T) {
	stop := errors.New("enough")
	for name, grace := range map[string]time.Duration{"without grace": 0, "with grace": 10 * time.Second} {
		inWorld(t, name, copilot.Options{}, func(w *world) {
			w.agents.Script = func(t *fake.Turn) { t.WaitIgnoringAbort(5 * time.Second) }
			ctx, cancel := context.WithCancelCause(w.t.Context())
			time.AfterFunc(time.Second, func() { cancel(stop) })
			began := time.Now()
			run, err := w.follow(ctx, w.start(), func(r *follow.Run) {
				r.Grace = func(cause error) time.Duration {
					assert.Equal(w.t, stop, cause)
					return grace
				}
			})
			if grace == 0 {
				require.ErrorIs(w.t, err, stop)
				assert.Equal(w.t, time.Second, time.Since(began))
			} else {
				require.NoError(w.t, err)
				assert.Equal(w.t, event.Cancelled, run.Outcome)
			}
			wait(time.Minute)
			assert.Equal(w.t, copilot.StateIdle, run.Session().Info().State)
		})
	}
}

func TestFollowedRunWakesItsReader(t *testing.T) {
	inWorld(t, "at the chosen interval", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.Wait(5500 * time.Millisecond) }
		r := follow.Session(w.host, w.start(), 0)
		r.Idle = func() time.Duration { return time.Second }
		run, err := r.Prompt(event.Prompt{Text: "Go"})
		require.NoError(w.t, err)
		times := 0
		for b, err := range run.Events(w.t.Context()) {
			require.NoError(w.t, err)
			if len(b.Entries) == 0 {
				times++
			}
		}
		assert.Equal(w.t, 5, times)
		assert.Equal(w.t, event.Completed, run.Outcome)
	})
}

func TestFollowedRunEndsWithItsSession(t *testing.T) {
	inWorld(t, "that is deleted", copilot.Options{}, func(w *world) {
		s := w.start()
		w.run(s, "first")
		w.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		time.AfterFunc(time.Second, func() { _ = s.Close() })
		run, err := w.follow(w.t.Context(), s, asItIs)
		if err != nil {
			require.ErrorIs(w.t, err, fault.ErrSessionClosed)
		}
		assert.NotEqual(w.t, event.Completed, run.Outcome)
	})
}

func TestFollowedRunContinuesAfterGap(t *testing.T) {
	inWorld(t, "and its text is complete", copilot.Options{RecordBudget: 4096}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			for range 50 {
				t.Think(string(make([]byte, 1000)))
			}
			t.Wait(time.Second)
			t.Say("Whole.")
		}
		s := w.start()
		run, err := follow.Session(w.host, s, 0).Prompt(event.Prompt{Text: "Go"})
		require.NoError(w.t, err)
		wait(500 * time.Millisecond) // the reader falls behind
		gaps := 0
		for b, err := range run.Events(w.t.Context()) {
			require.NoError(w.t, err)
			if b.Gap != nil {
				gaps++
			}
		}
		assert.Positive(w.t, gaps)
		assert.Equal(w.t, "Whole.", run.Text)
	})
}

func TestFollowedRunOmitsDeltasAfterGap(t *testing.T) {
	inWorld(t, "because the end of their text contains it all", copilot.Options{RecordBudget: 12_000}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) {
			piece := strings.Repeat("x", 300)
			for range 20 {
				t.Emit(event.MessageDelta{ID: "m", Text: piece})
			}
			t.Emit(event.MessageEnded{ID: "m", Text: strings.Repeat(piece, 20)})
			t.Wait(time.Second)
		}
		s := w.start()
		run, err := follow.Session(w.host, s, 0).Prompt(event.Prompt{Text: "Go"})
		require.NoError(w.t, err)
		wait(500 * time.Millisecond)
		kept, err := s.Record().Next(w.t.Context(), 0, 0)
		require.NoError(w.t, err)
		require.True(w.t, slices.ContainsFunc(kept, func(e follow.Entry) bool { return e.Superseded }), "some deltas are kept")
		for b, err := range run.Events(w.t.Context()) {
			require.NoError(w.t, err)
			for _, e := range b.Entries {
				_, isDelta := e.Value.Body.(event.MessageDelta)
				assert.False(w.t, isDelta)
			}
		}
		assert.Len(w.t, run.Text, 6000)
	})
}
