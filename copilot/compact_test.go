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

func TestPromptAfterCompaction(t *testing.T) {
	broken := func(context.Context, fake.Call) error { return errors.New("broken") }
	give := func(w *world, s *copilot.Session, text string) string {
		w.t.Helper()
		run, err := s.Prompt(event.Prompt{Text: text, Compact: true})
		require.NoError(w.t, err)
		synctest.Wait()
		return run
	}
	tests := []struct {
		name string
		do   func(w *world, s *copilot.Session)
		want []string // after the opening
	}{
		{
			"the conversation is compacted, then the prompt is sent, in one run", func(w *world, s *copilot.Session) {
				run := give(w, s, "a")
				var order []string
				for _, e := range events(w.t, s)[1:] {
					assert.Equal(w.t, run, e.Run)
					switch e.Body.(type) {
					case event.UserMessage:
						order = append(order, "prompt")
					case event.CompactionStarted:
						order = append(order, "begin")
					case event.CompactionEnded:
						order = append(order, "end")
					case event.TurnStarted:
						order = append(order, "turn")
					}
				}
				assert.Equal(w.t, []string{"prompt", "begin", "end", "turn"}, order)
				assert.True(w.t, of[event.UserMessage](w.t, s)[0].Prompt.Compact)
			},
			[]string{"r1 starts", "r1 user: a", "r1 says: a", "r1 completed"},
		},
		{
			"without a text there is no prompt", func(w *world, s *copilot.Session) {
				give(w, s, " \n")
				assert.Zero(w.t, w.agents.Count(fake.Send))
				assert.Len(w.t, of[event.CompactionEnded](w.t, s), 1)
			},
			[]string{"r1 starts", "r1 completed"},
		},
		{
			"an empty conversation is not compacted, and the prompt is sent", func(w *world, s *copilot.Session) {
				w.agents.Damage(s.ID())
				began := time.Now()
				give(w, s, "a")
				assert.Equal(w.t, began, time.Now(), "without waiting")
			},
			[]string{"r1 starts", "r1 user: a", "r1 says: a", "r1 completed"},
		},
		{
			"compacting an empty conversation fails", func(w *world, s *copilot.Session) {
				w.agents.Damage(s.ID())
				give(w, s, "")
				assert.Equal(w.t, "there is nothing to compact yet", of[event.RunEnded](w.t, s)[0].Text)
			},
			[]string{"r1 starts", "r1 failure (invalid)", "r1 failed"},
		},
		{
			"a failure fails the run, and the prompt is not sent", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, broken)
				give(w, s, "a")
				wait(time.Second)
				assert.Zero(w.t, w.agents.Count(fake.Send))
				w.run(s, "b")
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 failure (internal)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"a cancelled compaction ends the run, and the prompt is not sent", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, fake.HangForever)
				run := give(w, s, "a")
				require.NoError(w.t, s.Cancel(run))
				synctest.Wait()
				assert.Zero(w.t, w.agents.Count(fake.Send))
				assert.Zero(w.t, w.agents.Count(fake.Abort))
				w.run(s, "b")
				assert.Equal(w.t, 1, w.agents.Count(fake.Open))
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "r2 starts", "r2 user: b", "r2 says: b", "r2 completed"},
		},
		{
			"a run cancelled right after the compaction does not send the prompt", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, func(context.Context, fake.Call) error {
					return s.Cancel("")
				})
				give(w, s, "a")
				assert.Zero(w.t, w.agents.Count(fake.Send))
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled"},
		},
		{
			"the process dies", func(w *world, s *copilot.Session) {
				w.agents.Before = w.kills(fake.Compact)
				give(w, s, "a")
				wait(time.Second)
				w.run(s, "b")
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"events that the agent sends on its own do not end the run", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, func(_ context.Context, c fake.Call) error {
					c.Emit(event.Idle{})
					return nil
				})
				give(w, s, "a")
			},
			[]string{"r1 starts", "r1 user: a", "r1 says: a", "r1 completed"},
		},
		{
			"a prompt that steers waits until the prompt is sent", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, slowly(time.Second))
				give(w, s, "a")
				_, err := s.Prompt(event.Prompt{Text: "left", Steer: true})
				require.NoError(w.t, err)
				wait(time.Minute)
				assert.Equal(w.t, "a", w.agents.Calls(fake.Send)[0].Prompt)
				assert.Len(w.t, of[event.UserMessage](w.t, s), 2)
			},
			nil,
		},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.start()
			w.agents.Remember(s.ID(), "something")
			tt.do(w, s)
			if tt.want != nil {
				assert.Equal(w.t, tt.want, story(w.t, s)[1:])
			}
		})
	}
	inWorld(t, "invalid with some prompts", copilot.Options{}, func(w *world) {
		s := w.start()
		_, err := s.Prompt(event.Prompt{Compact: true, Attachments: []event.Attachment{{Text: "x"}}})
		require.ErrorIs(w.t, err, fault.ErrEmptyPrompt)
		_, err = s.Prompt(event.Prompt{Text: "a", Compact: true, Steer: true})
		assert.Equal(w.t, fault.Invalid, fault.KindOf(err))
		w.agents.Script = untilAborted
		w.run(s, "a")
		_, err = s.Prompt(event.Prompt{Compact: true, RefuseIfBusy: true})
		require.ErrorIs(w.t, err, fault.ErrBusy)
	})
	atHome(t, "a queued prompt is still compacted after a kill", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(t, s, "first")
		_, err := s.Prompt(event.Prompt{Text: "second", Compact: true})
		require.NoError(t, err)
		settle()
		p.kill()
		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		require.NoError(t, s.Answer("q", event.Answer{Approved: true}, "test"))
		settle()
		assert.Equal(t, 1, h.agents.Count(fake.Compact))
		assert.Contains(t, plot(t, s), "says: second")
	})
}
