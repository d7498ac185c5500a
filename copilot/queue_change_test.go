package copilot_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/session"
)

// queueing starts the run of "a", which the script reads prompts in, and queues the others.
func (w *world) queueing(s *copilot.Session, texts ...string) (runs []string) {
	w.t.Helper()
	w.run(s, "a")
	for _, text := range texts {
		runs = append(runs, w.prompt(s, text))
	}
	return runs
}

func TestChangeTheQueue(t *testing.T) {
	first := []string{"r1 starts", "r1 user: a"}
	tests := []struct {
		name   string
		script func(*fake.Turn)
		do     func(w *world, s *copilot.Session, runs []string) // with "b", "c" and "d" queued
		queues [][]string                                        // that clients see, after those of the prompts
		want   []string
	}{
		{
			"an edited prompt keeps its place", untilFirstAborted,
			func(w *world, s *copilot.Session, runs []string) {
				require.NoError(w.t, s.EditQueued(runs[1], "C\n"+strings.Repeat("x", 300)))
				assert.Equal(w.t, "C\n"+strings.Repeat("x", 300), s.Queue()[1].Text)
				require.NoError(w.t, s.EditQueued(runs[1], "C"))
				require.ErrorIs(w.t, s.EditQueued(runs[1], " "), fault.ErrEmptyPrompt)
				require.NoError(w.t, s.Cancel(""))
			},
			[][]string{{"b", "C " + strings.Repeat("x", 197) + "…", "d"}, {"b", "C", "d"}},
			[]string{
				"r1 cancelled", "r2 starts", "r2 user: b", "r2 completed", "r3 starts", "r3 user: C", "r3 completed",
				"r4 starts", "r4 user: d", "r4 completed",
			},
		},
		{
			"prompts move to the front, to the end, and nowhere", untilFirstAborted,
			func(w *world, s *copilot.Session, runs []string) {
				require.NoError(w.t, s.MoveQueued(runs[2], runs[0]))
				require.NoError(w.t, s.MoveQueued(runs[0], ""))
				require.NoError(w.t, s.MoveQueued(runs[1], runs[1]))
				require.NoError(w.t, s.Cancel(""))
			},
			[][]string{{"d", "b", "c"}, {"d", "c", "b"}},
			[]string{
				"r1 cancelled", "r2 starts", "r2 user: d", "r2 completed", "r3 starts", "r3 user: c", "r3 completed",
				"r4 starts", "r4 user: b", "r4 completed",
			},
		},
		{
			"a prompt sent now joins the run, and its own run ends in its turn without the agent", readsFirst,
			func(w *world, s *copilot.Session, runs []string) {
				current, err := s.SendQueued(runs[2])
				require.NoError(w.t, err)
				assert.Equal(w.t, s.Info().Run, current)
				wait(1500 * time.Millisecond)
				w.steer(s, "stop")
				wait(5 * time.Second)
				assert.Equal(w.t, 5, w.agents.Count(fake.Send), "a, d, stop, b and c")
				ends := of[event.RunEnded](w.t, s)
				assert.Equal(w.t, event.RunEnded{Outcome: event.Completed, Text: session.SentEarlier}, ends[1])
				assert.Equal(w.t, event.RunEnded{Outcome: event.Completed}, ends[2])
			},
			[][]string{{"b", "c"}},
			[]string{
				"r1 user: d", "r1 says: d", "r1 user: stop", "r1 says: stop", "r1 completed", "r2 starts", "r2 completed",
				"r3 starts", "r3 user: b", "r3 completed", "r4 starts", "r4 user: c", "r4 completed",
			},
		},
		{
			"one that the agent does not read in time is the next to run", untilFirstAborted,
			func(w *world, s *copilot.Session, runs []string) {
				w.agents.Before = onSteers(fake.HangForever)
				_, err := s.SendQueued(runs[1])
				require.NoError(w.t, err)
				_, err = s.SendQueued(runs[2])
				require.NoError(w.t, err)
				synctest.Wait()
				require.NoError(w.t, s.Cancel(""))
			},
			[][]string{{"b", "d"}, {"b"}, {"d", "b"}},
			[]string{
				"r1 cancelled", "r2 starts", "r2 user: c", "r2 completed", "r3 starts", "r3 user: d", "r3 completed",
				"r4 starts", "r4 user: b", "r4 completed",
			},
		},
		{
			"one that cannot be delivered returns to the queue", reads,
			func(w *world, s *copilot.Session, runs []string) {
				w.agents.Before = onSteers(func(context.Context, fake.Call) error { return errors.New("broken") })
				_, err := s.SendQueued(runs[2])
				require.NoError(w.t, err)
				wait(10 * time.Second)
				require.NoError(w.t, s.Close())
			},
			[][]string{{"b", "c"}, {"d", "b", "c"}},
			[]string{"r1 failure (internal)", "r1 cancelled", "- closed"},
		},
		{
			"one that is cancelled before the agent gets it does not reach it", readsFirst,
			func(w *world, s *copilot.Session, runs []string) {
				w.agents.Before = onSteers(slowly(time.Second))
				w.steer(s, "stop")
				_, err := s.SendQueued(runs[0])
				require.NoError(w.t, err)
				require.NoError(w.t, s.Cancel(runs[0]))
				for _, run := range runs[1:] {
					require.NoError(w.t, s.Cancel(run))
				}
				wait(time.Minute)
				assert.Equal(w.t, 2, w.agents.Count(fake.Send))
			},
			[][]string{{"c", "d"}, {"c", "d"}, {"d"}, {}},
			[]string{
				"r1 user: stop", "r1 says: stop", "r1 completed", "r2 starts", "r2 user: b", "r2 cancelled",
				"r3 starts", "r3 user: c", "r3 cancelled", "r4 starts", "r4 user: d", "r4 cancelled",
			},
		},
	}
	for _, test := range tests {
		inWorld(t, test.name, copilot.Options{}, func(w *world) {
			w.agents.Script = test.script
			s := w.start()
			runs := w.queueing(s, "b", "c", "d")
			test.do(w, s, runs)
			wait(time.Minute)
			assert.Equal(w.t, append(first, test.want...), story(w.t, s)[1:])
			assert.Equal(w.t, test.queues, queues(w.t, s)[3:])
		})
	}
}

func TestOnlyQueuedPromptsCanBeChanged(t *testing.T) {
	inBubble(t, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		s := w.start()
		runs := w.queueing(s, "b", "cancelled", "sent")
		require.NoError(t, s.Cancel(runs[1]))
		_, err := s.SendQueued(runs[2])
		require.NoError(t, err)
		for what, run := range map[string]string{"current": s.Info().Run, "cancelled": runs[1], "sent": runs[2], "unknown": "x", "none": ""} {
			require.ErrorIs(t, s.EditQueued(run, "new"), fault.ErrRunNotFound, what)
			require.ErrorIs(t, s.MoveQueued(run, runs[0]), fault.ErrRunNotFound, what)
			if run != "" {
				require.ErrorIs(t, s.MoveQueued(runs[0], run), fault.ErrRunNotFound, what)
			}
			_, err = s.SendQueued(run)
			require.ErrorIs(t, err, fault.ErrRunNotFound, what)
		}
		compact, err := s.Compact()
		require.NoError(t, err)
		both, err := s.Prompt(event.Prompt{Text: "both", Compact: true})
		require.NoError(t, err)
		tools, err := s.Prompt(event.Prompt{Text: "tools", Tools: &[]event.Tool{}})
		require.NoError(t, err)
		assert.Equal(t, fault.Invalid, fault.KindOf(s.EditQueued(compact, "new")))
		for _, run := range []string{compact, both, tools} {
			_, err = s.SendQueued(run)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		}
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.EditQueued(runs[0], "new"), fault.ErrSessionClosed)
	})
}

func TestWholeQueuedPromptsAreMasked(t *testing.T) {
	inBubble(t, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		s := w.start()
		runs := w.queueing(s, "token=ghp_0123456789abcdefghijABCDEFGHIJ012345\n"+strings.Repeat("x", 300))
		assert.Equal(t, []event.Waiting{{Run: runs[0], Text: "token=ghp_…masked\n" + strings.Repeat("x", 300)}}, s.Queue())
	})
}

func TestChangedQueueSurvivesKill(t *testing.T) {
	atHome(t, "in its order, with its texts, behind what the agent had not read", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(t, s, "first")
		var runs []string
		for _, text := range []string{"b", "c", "d"} {
			run, err := s.Prompt(event.Prompt{Text: text})
			require.NoError(t, err)
			runs = append(runs, run)
		}
		settle()
		_, err := s.SendQueued(runs[1])
		require.NoError(t, err)
		require.NoError(t, s.EditQueued(runs[0], "B"))
		require.NoError(t, s.MoveQueued(runs[2], runs[0]))
		settle()
		p.kill()

		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		require.NoError(t, s.Answer("q", event.Answer{Approved: true}, "test"))
		settle()
		var prompts []string
		for _, line := range plot(t, s) {
			if text, ok := strings.CutPrefix(line, "user: "); ok {
				prompts = append(prompts, text)
			}
		}
		assert.Equal(t, []string{"first", "c", "c", "d", "B"}, prompts)
	})
}
