package copilot_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

func ids(list []copilot.Info) []string {
	out := []string{}
	for _, i := range list {
		out = append(out, i.ID)
	}
	return out
}

func TestListOfSessions(t *testing.T) {
	atHome(t, "has all sessions in pages, most recently changed first", func(h *home) {
		t := h.t
		p := h.portal()
		var want []string
		for range 7 {
			s := p.start()
			s.Close()
			want = append([]string{s.ID()}, want...)
			settle()
		}
		p.stop()
		p = h.portal()
		defer p.stop()
		open := p.start()
		settle()
		want = append([]string{open.ID()}, want...)
		var got []string
		for after, parts := "", 0; parts == 0 || after != ""; parts++ {
			list, next, err := p.host.Sessions(t.Context(), after, 3)
			require.NoError(t, err)
			require.Less(t, parts, 5)
			got, after = append(got, ids(list)...), next
		}
		assert.Equal(t, want, got)
		_, _, err := p.host.Sessions(t.Context(), "x", 3)
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
	})
	atHome(t, "has each session once while processes come and go", func(h *home) {
		t := h.t
		a, b := h.portal(), h.portal()
		defer b.stop()
		mine, other := b.start(), a.start()
		settle()
		for _, p := range []*portal{a, b} {
			list, _, err := p.host.Sessions(t.Context(), "", 0)
			require.NoError(t, err)
			assert.ElementsMatch(t, []string{mine.ID(), other.ID()}, ids(list))
		}
		a.kill()
		list, _, err := b.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{mine.ID(), other.ID()}, ids(list))
	})
	atHome(t, "an unknown session is not found", func(h *home) {
		p := h.portal()
		defer p.stop()
		_, err := p.host.Session(h.t.Context(), "x")
		require.ErrorIs(h.t, err, fault.ErrSessionNotFound)
	})
}

func TestRename(t *testing.T) {
	atHome(t, "a user's title stays, open or closed, over restarts", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		require.NoError(t, s.Rename(t.Context(), " my\nown  title "))
		h.agents.Emit(s.ID(), event.TitleChanged{Title: "the agent's"})
		settle()
		assert.Equal(t, "my own title", s.Info().Title)
		s.Close()
		settle()
		require.NoError(t, s.Rename(t.Context(), "another"))
		settle()
		assert.Equal(t, "another", s.Info().Title)
		assert.Equal(t, copilot.StateClosed, s.Info().State)
		_, err := s.Record().Next(t.Context(), s.Record().Last(), 0)
		require.ErrorIs(t, err, io.EOF)
		p.kill()
		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		assert.Equal(t, "another", s.Info().Title)
		require.NoError(t, s.Rename(t.Context(), "a third"))
		assert.Equal(t, "title a third", plot(t, s)[len(plot(t, s))-1])
		for _, title := range []string{"", " \n", strings.Repeat("x", 201), "\xff"} {
			assert.Equal(t, fault.Invalid, fault.KindOf(s.Rename(t.Context(), title)), "%q", title)
		}
	})
}

func TestFork(t *testing.T) {
	atHome(t, "the copy continues from the same past, and the original does not change", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		s := p.start()
		prompt(t, s, "first")
		settle()
		copied, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		require.NoError(t, err)
		h.agents.Script = func(t *fake.Turn) { t.Say(fmt.Sprint("after ", t.Past)) }
		prompt(t, copied, "second")
		prompt(t, s, "other")
		settle()
		assert.Contains(t, plot(t, copied), "says: after [first]")
		assert.Contains(t, plot(t, copied), "user: first")
		assert.Contains(t, plot(t, s), "says: after [first]")
		assert.NotContains(t, plot(t, s), "user: second")
		assert.NotEqual(t, s.ID(), copied.ID())
		list, _, err := p.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		assert.Len(t, list, 2)
	})
	atHome(t, "a suspended session can be forked, a running one cannot", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.kill()
		p = h.portal()
		defer p.stop()
		copied, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		require.NoError(t, err)
		assert.Contains(t, plot(t, copied), "says: first")
		h.agents.Script = untilAborted
		prompt(t, copied, "second")
		settle()
		_, err = p.host.Fork(t.Context(), copied.ID(), copilot.Cut{})
		assert.Equal(t, fault.Busy, fault.KindOf(err))
	})
	atHome(t, "an empty session results in a new one", func(h *home) {
		p := h.portal()
		defer p.stop()
		copied, err := p.host.Fork(h.t.Context(), p.start().ID(), copilot.Cut{})
		require.NoError(h.t, err)
		prompt(h.t, copied, "first")
		settle()
		assert.Contains(h.t, plot(h.t, copied), "says: first")
		assert.NotContains(h.t, strings.Join(plot(h.t, copied), "\n"), "failure")
	})
}

func TestDelete(t *testing.T) {
	for name, before := range map[string]func(*portal, *copilot.Session) *portal{
		"an open session":              func(p *portal, _ *copilot.Session) *portal { return p },
		"a closed session":             func(p *portal, s *copilot.Session) *portal { s.Close(); settle(); return p },
		"a session just closed":        func(p *portal, s *copilot.Session) *portal { s.Close(); return p },
		"a session of a killed portal": func(p *portal, _ *copilot.Session) *portal { p.kill(); return p.portal() },
	} {
		atHome(t, name+" is deleted with the agent's copy", func(h *home) {
			t := h.t
			p := h.portal()
			s := p.start()
			prompt(t, s, "first")
			settle()
			p = before(p, s)
			defer p.stop()
			require.NoError(t, p.host.Delete(t.Context(), s.ID()))
			settle()
			_, err := p.host.Session(t.Context(), s.ID())
			require.ErrorIs(t, err, fault.ErrSessionNotFound)
			list, _, err := p.host.Sessions(t.Context(), "", 0)
			require.NoError(t, err)
			assert.Empty(t, list)
			assert.Equal(t, 1, h.agents.Count(fake.Forget))
			require.ErrorIs(t, p.host.Delete(t.Context(), s.ID()), fault.ErrSessionNotFound)
		})
	}
	atHome(t, "it is deleted even if the agent's copy remains, which is reported", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		s := p.start()
		h.agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Forget {
				return errors.New("no")
			}
			return nil
		}
		err := p.host.Delete(t.Context(), s.ID())
		require.ErrorContains(t, err, "the session is deleted, but")
		require.ErrorIs(t, err, fault.ErrCopyLeft)
		_, err = p.host.Session(t.Context(), s.ID())
		require.ErrorIs(t, err, fault.ErrSessionNotFound)
	})
}

func TestDeletionGoesOnWithoutItsClient(t *testing.T) {
	atHome(t, "", func(h *home) {
		t := h.t
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		h.agents.Before = fake.On(fake.Forget, func(ctx context.Context, _ fake.Call) error {
			leave()
			return ctx.Err()
		})
		p := h.portal()
		defer p.stop()
		s := p.start()
		prompt(t, s, "first")
		settle()
		require.NoError(t, p.host.Delete(ctx, s.ID()))
		require.Error(t, ctx.Err())
	})
}

func TestCopiesAreDeletedWhenAnAgentStartsAgain(t *testing.T) {
	atHome(t, "", func(h *home) {
		t := h.t
		before := h.portal()
		for range 2 {
			prompt(t, before.start(), "first")
		}
		settle()
		before.stop()
		p := h.portal()
		defer p.stop()
		list, _, err := p.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		h.agents.Before = fake.On(fake.Launch, func(context.Context, fake.Call) error { return errors.New("no") })
		require.ErrorIs(t, p.host.Delete(t.Context(), list[0].ID), fault.ErrCopyLeft)
		time.Sleep(3 * time.Hour)
		n, err := p.host.DeleteExpired(t.Context(), 2*time.Hour, 0)
		require.Error(t, err)
		assert.Equal(t, 1, n)
		assert.Zero(t, h.agents.Count(fake.Forget))
		h.agents.Before = nil
		n, err = p.host.DeleteExpired(t.Context(), 0, 0)
		require.NoError(t, err)
		assert.Zero(t, n)
		assert.Equal(t, 2, h.agents.Count(fake.Forget))
	})
}

func TestSearch(t *testing.T) {
	atHome(t, "finds prompts, answers and titles, newest first", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		h.agents.Script = func(t *fake.Turn) {
			t.Think("green thoughts")
			t.EmitAs("helper", event.MessageEnded{ID: "x", Text: "green helper"})
			t.Say("an answer about green apples")
		}
		s := p.start()
		prompt(t, s, "a prompt about Green tea")
		settle()
		h.agents.Emit(s.ID(), event.TitleChanged{Title: "Things that are green"})
		settle()
		found, err := p.host.Search(t.Context(), "green", 0)
		require.NoError(t, err)
		var kinds []event.TextKind
		for _, f := range found {
			kinds = append(kinds, f.Kind)
			assert.Equal(t, s.ID(), f.Session)
			assert.Equal(t, "Things that are green", f.Title)
			assert.Equal(t, "green", strings.ToLower(f.Snippet[f.Hits[0][0]:f.Hits[0][1]]))
		}
		assert.Equal(t, []event.TextKind{event.TextTitle, event.TextAnswer, event.TextPrompt}, kinds)
		all := past(t, s)
		assert.IsType(t, event.UserMessage{}, all[found[2].N-1].Value.Body)
		assert.Equal(t, s.Info().Run, found[2].Run)
		assert.Equal(t, s.Info().Run, found[1].Run)
		found, err = p.host.Search(t.Context(), "green apples", 0)
		require.NoError(t, err)
		assert.Len(t, found, 1)
		_, err = p.host.Search(t.Context(), " ", 0)
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
	})
}

func TestDeleteExpired(t *testing.T) {
	atHome(t, "unused sessions are deleted when they are too old", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		old, used := p.start(), p.start()
		old.Close()
		time.Sleep(3 * time.Hour)
		n, err := p.host.DeleteExpired(t.Context(), 2*time.Hour, 0)
		require.NoError(t, err)
		assert.Equal(t, 2, n, "an idle session is suspended first")
		assert.Equal(t, 2, h.agents.Count(fake.Forget))
		for _, s := range []*copilot.Session{old, used} {
			_, err = p.host.Session(t.Context(), s.ID())
			require.ErrorIs(t, err, fault.ErrSessionNotFound)
		}
	})
}

func TestDeleteExpiredOfOrigins(t *testing.T) {
	atHome(t, "only sessions of these origins are deleted", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		mine := p.start()
		job, err := p.host.Start(t.Context(), copilot.Start{Origin: "job", Directory: "/", WithoutAgent: true})
		require.NoError(t, err)
		time.Sleep(3 * time.Hour)
		n, err := p.host.DeleteExpired(t.Context(), 2*time.Hour, 0, "job")
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		_, err = p.host.Session(t.Context(), job.ID())
		require.ErrorIs(t, err, fault.ErrSessionNotFound)
		_, err = p.host.Session(t.Context(), mine.ID())
		require.NoError(t, err)
	})
}

func TestIdleSessionIsSuspended(t *testing.T) {
	atHome(t, "others can use it, and its next prompt activates it", func(h *home) {
		t := h.t
		a, b := h.portal(), h.portal()
		defer a.stop()
		defer b.stop()
		s := a.start()
		prompt(t, s, "first")
		time.Sleep(31 * time.Minute)
		assert.Equal(t, copilot.StateIdle, s.Info().State)
		assert.Zero(t, h.agents.Running())
		waiting := make(chan error, 1)
		go func() {
			_, err := s.Record().Next(t.Context(), s.Record().Last(), 0)
			waiting <- err
		}()
		synctest.Wait()
		assert.Empty(t, waiting, "readers keep waiting")
		prompt(t, s, "second")
		settle()
		require.NoError(t, <-waiting)
		assert.Contains(t, plot(t, s), "says: second")
		time.Sleep(31 * time.Minute)
		prompt(t, b.session(s.ID()), "third")
		settle()
		assert.Contains(t, plot(t, a.session(s.ID())), "says: third")
		assert.Equal(t, copilot.StateElsewhere, a.session(s.ID()).Info().State)
	})
	atHome(t, "but not while it works or asks", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(t, s, "first")
		time.Sleep(time.Hour)
		assert.Equal(t, copilot.StateWaiting, s.Info().State)
		require.NoError(t, s.Answer("q", event.Answer{Approved: true}, "test"))
		settle()
		assert.Contains(t, plot(t, s), "says: approved: yes")
	})
}

func TestDeltasAreRemovedFromStore(t *testing.T) {
	atHome(t, "a minute after their run, and readers find the whole text", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = func(t *fake.Turn) {
			t.Emit(event.MessageStarted{ID: "m"})
			for i := range 1000 {
				t.Emit(event.MessageDelta{ID: "m", Text: fmt.Sprint(i)})
			}
			t.Emit(event.MessageEnded{ID: "m", Text: "the whole"})
		}
		s := p.start()
		prompt(t, s, "first")
		settle()
		stored, err := p.store.Read(t.Context(), s.ID(), 0, 0)
		require.NoError(t, err)
		assert.Greater(t, len(stored), 1000, "readers in the middle can continue")
		all := past(t, s)
		time.Sleep(2 * time.Minute)
		stored, err = p.store.Read(t.Context(), s.ID(), 0, 0)
		require.NoError(t, err)
		assert.Less(t, len(stored), 10)
		p.kill()
		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		var want []journal.Entry[event.Event]
		for _, e := range all {
			if !e.Superseded {
				want = append(want, e)
			}
		}
		got := past(t, s)
		require.Len(t, got, len(want))
		for i := range want {
			assert.Equal(t, want[i].N, got[i].N)
		}
	})
	atHome(t, "before that they are marked as superseded", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = func(t *fake.Turn) {
			for i := range 5000 {
				t.Emit(event.MessageDelta{ID: "m", Text: fmt.Sprint(i)})
			}
			t.Emit(event.MessageEnded{ID: "m", Text: "the whole"})
		}
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.kill()
		p = h.portal()
		defer p.stop()
		for _, e := range past(t, p.session(s.ID())) {
			if _, piece := e.Value.Body.(event.MessageDelta); piece && !e.Superseded {
				t.Fatalf("the delta %d is not superseded", e.N)
			}
		}
	})
}

func TestDamagedAgentCopy(t *testing.T) {
	atHome(t, "the record is complete, and the agent reports a new start", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.kill()
		agent, err := h.agents.Launch(t.Context())
		require.NoError(t, err)
		require.NoError(t, agent.Forget(t.Context(), s.ID()))
		agent.Stop(t.Context())
		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		assert.Contains(t, plot(t, s), "says: first")
		h.agents.Script = func(t *fake.Turn) { t.Say(fmt.Sprint("after ", t.Past)) }
		prompt(t, s, "second")
		settle()
		got := strings.Join(plot(t, s), "\n")
		assert.Contains(t, got, "failure (unavailable)\nsays: after []\ncompleted")
	})
}

// A prompt lost with its process before the agent said or did anything can simply be sent again: nothing else was lost.
func TestEmptyAgentCopyIsNotReported(t *testing.T) {
	for name, first := range map[string]func(*fake.Turn){
		"the agent had done nothing":    func(t *fake.Turn) { t.Kill() },
		"the agent had begun to answer": func(t *fake.Turn) { t.Emit(event.MessageDelta{ID: "m", Text: "I"}); t.Kill() },
	} {
		atHome(t, name, func(h *home) {
			t := h.t
			p := h.portal()
			defer p.stop()
			s := p.start()
			h.agents.Script = first
			prompt(t, s, "first")
			settle()
			h.agents.Damage(s.ID())
			h.agents.Script = nil
			prompt(t, s, "second")
			settle()
			want := 1 // of the process
			if name == "the agent had begun to answer" {
				want = 2
			}
			assert.Equal(t, want, strings.Count(strings.Join(plot(t, s), "\n"), "failure (unavailable)"), plot(t, s))
		})
	}
}

// gaps reads a record to its end, and returns the number of gaps and the last prompt.
func gaps(t *testing.T, s *copilot.Session) (n int, last string) {
	t.Helper()
	for after := uint64(0); after < s.Record().Last(); {
		entries, err := s.Record().Next(t.Context(), after, 0)
		var gap *journal.GapError
		if errors.As(err, &gap) {
			n, after = n+1, gap.First-1
			continue
		}
		require.NoError(t, err)
		for _, e := range entries {
			if m, ok := e.Value.Body.(event.UserMessage); ok {
				last = m.Prompt.Text
			}
			after = e.N
		}
	}
	return n, last
}

func TestFailingStore(t *testing.T) {
	full := func(h *home) *portal {
		h.options.MaxBytes = 400 << 10
		return h.portal()
	}
	atHome(t, "a full store is reported, and the portal continues from memory", func(h *home) {
		t := h.t
		p := full(h)
		s := p.start()
		h.agents.Script = func(t *fake.Turn) {
			for i := range 10 {
				content := fmt.Sprint(i, t.Prompt, strings.Repeat("x", 10<<10))
				t.Emit(event.ToolEnded{ID: fmt.Sprint(i), Result: &event.ToolResult{Content: content}})
			}
			t.Say(t.Prompt)
		}
		for i := range 4 {
			prompt(t, s, fmt.Sprint("prompt ", i))
			settle()
		}
		require.NotNil(t, p.store.Failure())
		assert.Equal(t, store.Full, p.store.Failure().Kind)
		assert.Contains(t, plot(t, s), "says: prompt 3", "memory has everything")
		other := p.start()
		prompt(t, other, "me too")
		settle()
		assert.Contains(t, plot(t, other), "says: me too")
		list, _, err := p.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		assert.Len(t, list, 2)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		p.host.Close(ctx)
		require.Error(t, p.store.Close(), "the loss of entries in memory is reported")

		h.options.MaxBytes = 0
		p = h.portal()
		defer p.stop()
		assert.Contains(t, plot(t, p.session(s.ID())), "user: prompt 0")
	})
	atHome(t, "entries that memory cannot keep are a gap, and the rest is stored", func(h *home) {
		t := h.t
		h.options.MaxBytes = 2 << 20
		h.options.Memory = 64 << 10
		p := h.portalWith(copilot.Options{RecordBudget: 64 << 10})
		defer func() { p.kill() }()
		gone := p.start()
		h.agents.Script = func(t *fake.Turn) {
			for i := range 10 {
				content := fmt.Sprint(i, t.Prompt, strings.Repeat("x", 20<<10))
				t.Emit(event.ToolEnded{ID: fmt.Sprint(i), Result: &event.ToolResult{Content: content}})
			}
			t.Say(t.Prompt)
		}
		for i := range 6 {
			prompt(t, gone, fmt.Sprint("much ", i))
			settle()
		}
		gone.Close()
		settle()
		s := p.start()
		for i := range 10 {
			prompt(t, s, fmt.Sprint("prompt ", i))
			settle()
		}
		require.NotNil(t, p.store.Failure())
		lost, _ := gaps(t, s)
		assert.Positive(t, lost)
		require.NoError(t, p.host.Delete(t.Context(), gone.ID())) // makes room
		h.agents.Script = nil
		time.Sleep(time.Minute)
		prompt(t, s, "at last")
		settle()
		assert.Nil(t, p.store.Failure())
		lost, _ = gaps(t, s)
		p.kill()
		h.options.MaxBytes = 0
		p = h.portal()
		got, last := gaps(t, p.session(s.ID()))
		assert.Equal(t, lost, got, "unstored entries are a gap")
		assert.Equal(t, "at last", last)
	})
}
