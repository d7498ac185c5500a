package copilot_test

import (
	"context"
	"errors"
	"fmt"
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

// reads is a script that works until it is aborted or reads "stop", and says
// what it was steered to. It reads once a second.
func reads(t *fake.Turn) {
	for t.Wait(time.Second) {
		p, ok := t.Steered()
		if ok {
			t.Say(p)
		}
		if p == "stop" {
			return
		}
	}
}

// readsFirst reads for the first prompt only.
func readsFirst(t *fake.Turn) {
	if len(t.Past) == 0 {
		reads(t)
	}
}

// shortly works for half a second on the first prompt.
func shortly(t *fake.Turn) {
	if len(t.Past) == 0 {
		t.Wait(500 * time.Millisecond)
	}
}

// stubborn obeys the abort of the first prompt slowly.
func stubborn(t *fake.Turn) {
	if len(t.Past) == 0 {
		t.WaitForAbort()
		t.WaitIgnoringAbort(time.Second)
	}
}

// untilFirstAborted is a script in which only the first prompt lasts until it is aborted.
func untilFirstAborted(t *fake.Turn) {
	if len(t.Past) == 0 {
		t.WaitForAbort()
	}
}

// steer sends prompts that steer, and returns the ids of their runs.
func (w *world) steer(s *copilot.Session, texts ...string) (runs []string) {
	w.t.Helper()
	for _, text := range texts {
		run, err := s.Prompt(event.Prompt{Text: text, Steer: true})
		require.NoError(w.t, err)
		runs = append(runs, run)
	}
	return runs
}

// onSteers calls f for prompts that steer.
func onSteers(f func(context.Context, fake.Call) error) func(context.Context, fake.Call) error {
	return fake.On(fake.Send, func(ctx context.Context, c fake.Call) error {
		if !c.Steer {
			return nil
		}
		return f(ctx, c)
	})
}

func slowly(d time.Duration) func(context.Context, fake.Call) error {
	return func(ctx context.Context, _ fake.Call) error {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
		return ctx.Err()
	}
}

func TestSteering(t *testing.T) {
	tests := []struct {
		name   string
		script func(*fake.Turn)
		do     func(w *world, s *copilot.Session)
		want   []string // after the opening
	}{
		{
			"a prompt that steers joins the run when the agent has read it", reads,
			func(w *world, s *copilot.Session) {
				run := w.prompt(s, "a")
				wait(1500 * time.Millisecond)
				assert.Equal(w.t, []string{run}, w.steer(s, "b"))
				wait(time.Second)
				assert.Equal(w.t, []string{run}, w.steer(s, "stop"))
				wait(time.Second)
				for i, m := range of[event.UserMessage](w.t, s) {
					assert.Equal(w.t, i > 0, m.Prompt.Steer)
				}
			},
			[]string{"r1 starts", "r1 user: a", "r1 user: b", "r1 says: b", "r1 user: stop", "r1 says: stop", "r1 completed"},
		},
		{
			"several are delivered in order", reads,
			func(w *world, s *copilot.Session) {
				w.agents.Before = onSteers(slowly(100 * time.Millisecond))
				w.run(s, "a")
				w.steer(s, "b", "c", "stop")
				wait(5 * time.Second)
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 user: b", "r1 user: c", "r1 user: stop",
				"r1 says: b", "r1 says: c", "r1 says: stop", "r1 completed",
			},
		},
		{
			"they wait until the prompt is sent", reads,
			func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Send, slowly(300*time.Millisecond))
				w.prompt(s, "a")
				w.steer(s, "b", "stop")
				synctest.Wait()
				assert.Equal(w.t, 1, w.agents.Count(fake.Send))
				wait(10 * time.Second)
			},
			[]string{"r1 starts", "r1 user: a", "r1 user: b", "r1 user: stop", "r1 says: b", "r1 says: stop", "r1 completed"},
		},
		{
			"they overtake queued prompts", readsFirst,
			func(w *world, s *copilot.Session) {
				w.run(s, "a")
				w.run(s, "b")
				w.steer(s, "stop")
				wait(5 * time.Second)
			},
			[]string{"r1 starts", "r1 user: a", "r1 user: stop", "r1 says: stop", "r1 completed", "r2 starts", "r2 user: b", "r2 completed"},
		},
		{
			"late ones get runs of their own, in order, before queued prompts", shortly,
			func(w *world, s *copilot.Session) {
				w.agents.Before = onSteers(slowly(time.Second)) // the agent is idle meanwhile
				w.run(s, "a")
				w.run(s, "d")
				w.steer(s, "b", "c")
				wait(10 * time.Second)
				for _, m := range of[event.UserMessage](w.t, s) {
					assert.False(w.t, m.Prompt.Steer)
				}
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 completed", "r2 starts", "r2 user: b", "r2 completed",
				"r3 starts", "r3 user: c", "r3 completed", "r4 starts", "r4 user: d", "r4 completed",
			},
		},
		{
			"undelivered ones get runs of their own after a failure", nil,
			func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Send, func(_ context.Context, c fake.Call) error {
					if c.Prompt != "a" {
						return nil
					}
					<-time.After(time.Second)
					return errors.New("broken")
				})
				w.prompt(s, "a")
				w.steer(s, "b")
				wait(5 * time.Second)
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 failure (internal)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"a cancelled run is no longer steered", stubborn,
			func(w *world, s *copilot.Session) {
				w.run(s, "a")
				require.NoError(w.t, s.Cancel(""))
				synctest.Wait()
				w.steer(s, "b")
				wait(5 * time.Second)
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "r2 starts", "r2 user: b", "r2 completed"},
		},
		{
			"a cancellation does not wait for their delivery", untilFirstAborted,
			func(w *world, s *copilot.Session) {
				w.agents.Before = onSteers(fake.HangForever)
				w.run(s, "a")
				w.steer(s, "b", "c")
				synctest.Wait()
				require.NoError(w.t, s.Cancel(""))
				wait(3 * time.Second)
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 cancelled", "r2 starts", "r2 user: b", "r2 completed",
				"r3 starts", "r3 user: c", "r3 completed",
			},
		},
		{
			"closing does not wait for their delivery and drops them", untilFirstAborted,
			func(w *world, s *copilot.Session) {
				w.agents.Before = onSteers(fake.HangForever)
				w.run(s, "a")
				for i := range 50 {
					w.steer(s, fmt.Sprint(i))
				}
				synctest.Wait()
				began := time.Now()
				s.Close()
				assert.LessOrEqual(w.t, time.Since(began), 4*time.Second)
				_, err := s.Prompt(event.Prompt{Text: "b", Steer: true})
				require.ErrorIs(w.t, err, fault.ErrSessionClosed)
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "- closed"},
		},
		{
			"the process dies during a delivery", untilFirstAborted,
			func(w *world, s *copilot.Session) {
				w.agents.Before = onSteers(func(_ context.Context, c fake.Call) error {
					w.agents.Kill(c.Process)
					return nil
				})
				w.run(s, "a")
				w.steer(s, "b", "c")
				wait(5 * time.Second)
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 failure (unavailable)", "r1 failed",
				"r2 starts", "r2 user: b", "r2 completed", "r3 starts", "r3 user: c", "r3 completed",
			},
		},
		{
			"a rejected one is a failure, and the run continues", reads,
			func(w *world, s *copilot.Session) {
				w.agents.Before = onSteers(func(_ context.Context, c fake.Call) error {
					if c.Prompt == "b" {
						return errors.New("broken")
					}
					return nil
				})
				w.run(s, "a")
				w.steer(s, "b", "stop")
				wait(5 * time.Second)
				assert.Equal(w.t, "the prompt did not reach the agent: broken", of[event.SessionError](w.t, s)[0].Text)
			},
			[]string{"r1 starts", "r1 user: a", "r1 failure (internal)", "r1 user: stop", "r1 says: stop", "r1 failed"},
		},
		{
			"one that the agent does not accept in time is a failure", reads,
			func(w *world, s *copilot.Session) {
				w.agents.Before = onSteers(fake.HangForever)
				w.run(s, "a")
				w.steer(s, "b")
				wait(time.Minute)
				assert.Equal(w.t, copilot.StateRunning, s.Info().State)
			},
			[]string{"r1 starts", "r1 user: a", "r1 failure (timeout)"},
		},
		{
			"one waits for the end of a compaction", nil,
			func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, slowly(time.Second))
				w.agents.Remember(s.ID(), "something")
				run, err := s.Compact()
				require.NoError(w.t, err)
				synctest.Wait()
				assert.Equal(w.t, []string{run}, w.steer(s, "b"))
				wait(5 * time.Second)
			},
			[]string{"r1 starts", "r1 completed", "r2 starts", "r2 user: b", "r2 says: b", "r2 completed"},
		},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			w.agents.Script = tt.script
			s := w.start()
			tt.do(w, s)
			assert.Equal(w.t, tt.want, story(w.t, s)[1:])
		})
	}
	inWorld(t, "only a limited number waits", copilot.Options{}, func(w *world) {
		w.agents.Before = fake.On(fake.Send, fake.HangForever)
		s := w.start()
		w.run(s, "a")
		for i := range 100 {
			w.steer(s, fmt.Sprint(i))
		}
		run, err := s.Prompt(event.Prompt{Text: "x", Steer: true})
		assert.Empty(w.t, run)
		assert.Equal(w.t, fault.Busy, fault.KindOf(err))
		require.EqualError(w.t, err, "100 prompts wait already; try again when the agent has read some")
	})
}

func TestCompact(t *testing.T) {
	compact := func(w *world, s *copilot.Session) string {
		w.t.Helper()
		run, err := s.Compact()
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
			"a compaction is a run without a prompt", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, slowly(time.Second))
				run := compact(w, s)
				assert.Equal(w.t, copilot.StateRunning, s.Info().State)
				wait(time.Second)
				assert.Equal(w.t, copilot.StateIdle, s.Info().State)
				assert.Equal(w.t, []event.CompactionEnded{{Before: 1000, After: 100, Summary: "what was said"}}, of[event.CompactionEnded](w.t, s))
				for _, e := range events(w.t, s)[1:] {
					assert.Equal(w.t, run, e.Run)
				}
				assert.Zero(w.t, w.agents.Count(fake.Send))
			},
			[]string{"r1 starts", "r1 completed"},
		},
		{
			"a compaction is queued like a prompt", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Send, slowly(time.Second))
				w.prompt(s, "a")
				compact(w, s)
				w.prompt(s, "b")
				wait(5 * time.Second)
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 says: a", "r1 completed", "r2 starts", "r2 completed",
				"r3 starts", "r3 user: b", "r3 says: b", "r3 completed",
			},
		},
		{
			"a compaction is cancelled", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, fake.HangForever)
				compact(w, s)
				require.NoError(w.t, s.Cancel(""))
				synctest.Wait()
				w.run(s, "a")
				assert.Equal(w.t, 1, w.agents.Count(fake.Open))
			},
			[]string{"r1 starts", "r1 cancelled", "r2 starts", "r2 user: a", "r2 says: a", "r2 completed"},
		},
		{
			"the session is closed during a compaction", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, fake.HangForever)
				compact(w, s)
				s.Close()
				_, err := s.Compact()
				require.ErrorIs(w.t, err, fault.ErrSessionClosed)
			},
			[]string{"r1 starts", "r1 cancelled", "- closed"},
		},
		{
			"a compaction fails", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, func(context.Context, fake.Call) error { return errors.New("broken") })
				compact(w, s)
				wait(time.Second)
				assert.Equal(w.t, []event.RunEnded{{Outcome: event.Failed, Text: "broken"}}, of[event.RunEnded](w.t, s))
				w.run(s, "a")
				assert.Equal(w.t, 1, w.agents.Count(fake.Open))
			},
			[]string{"r1 starts", "r1 failure (internal)", "r1 failed", "r2 starts", "r2 user: a", "r2 says: a", "r2 completed"},
		},
		{
			"the process dies, which is reported once", func(w *world, s *copilot.Session) {
				w.agents.Before = w.kills(fake.Compact)
				compact(w, s)
				wait(time.Second)
				w.run(s, "a")
			},
			[]string{"r1 starts", "r1 failure (unavailable)", "r1 failed", "r2 starts", "r2 user: a", "r2 says: a", "r2 completed"},
		},
		{
			"the process dies slowly", func(w *world, s *copilot.Session) {
				w.agents.Dying = 300 * time.Millisecond
				w.agents.Before = w.kills(fake.Compact)
				compact(w, s)
				wait(time.Second)
				w.run(s, "a")
			},
			[]string{"r1 starts", "r1 failure (unavailable)", "r1 failed", "r2 starts", "r2 user: a", "r2 says: a", "r2 completed"},
		},
		{
			"the conversation is opened again for a compaction", func(w *world, s *copilot.Session) {
				w.loseProcess()
				compact(w, s)
				assert.True(w.t, w.agents.Calls(fake.Open)[1].Opening.Resume)
			},
			[]string{"- failure (unavailable)", "r1 starts", "r1 completed"},
		},
		{
			"an agent that does not finish is released", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.Compact, fake.HangForever)
				compact(w, s)
				wait(5*time.Minute - time.Second)
				assert.Equal(w.t, copilot.StateRunning, s.Info().State)
				wait(10 * time.Second)
				assert.Equal(w.t, "the agent did not compact the conversation within 5m0s", of[event.RunEnded](w.t, s)[0].Text)
				assert.Equal(w.t, 1, w.agents.Count(fake.Close))
				w.run(s, "a")
			},
			[]string{"r1 starts", "r1 failure (timeout)", "r1 failed", "r2 starts", "r2 user: a", "r2 says: a", "r2 completed"},
		},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.start()
			w.agents.Remember(s.ID(), "something")
			tt.do(w, s)
			assert.Equal(w.t, tt.want, story(w.t, s)[1:])
		})
	}
	inWorld(t, "a compaction needs room in the queue", copilot.Options{}, func(w *world) {
		w.agents.Script = untilAborted
		s := w.start()
		for range 101 {
			w.prompt(s, "a")
		}
		_, err := s.Compact()
		assert.Equal(w.t, fault.Busy, fault.KindOf(err))
	})
}
