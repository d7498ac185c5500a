package copilot_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
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
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
)

// home is the data directory and the agents of a machine on which portals come
// and go. Like each process, each portal has its own store.
type home struct {
	t         *testing.T
	agents    *fake.Agents
	directory string // of the data
	work      string // of sessions
	options   store.Options
}

// portal is a process on a home.
type portal struct {
	*home

	store *store.Store
	host  *copilot.Host
	dead  atomic.Bool
}

// atHome runs a test in virtual time.
func atHome(t *testing.T, name string, test func(*home)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		data, work := t.TempDir(), t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			h := &home{t: t, agents: fake.New(), directory: data, work: work}
			defer h.agents.Close()
			test(h)
		})
	})
}

func (h *home) portal() *portal { return h.portalWith(copilot.Options{}) }

func (h *home) portalWith(o copilot.Options) *portal {
	h.t.Helper()
	so := h.options
	so.Directory = h.directory
	s, err := store.Open(h.t.Context(), so)
	require.NoError(h.t, err)
	p := &portal{home: h, store: s}
	o.Store, o.Launch, o.Health = s, p.launch, h.agents.Health
	p.host = copilot.NewHost(o)
	return p
}

// launch starts an agent unless the portal was killed.
func (p *portal) launch(ctx context.Context) (agent.Agent, error) {
	if p.dead.Load() {
		return nil, errors.New("the portal was killed")
	}
	return p.agents.Launch(ctx)
}

// stop ends the portal gracefully.
func (p *portal) stop() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	p.host.Close(ctx)
	require.NoError(p.t, p.store.Close())
}

// endings returns the ways in which a portal ends, by name.
func endings() map[string]func(*portal) {
	return map[string]func(*portal){"a stop": (*portal).stop, "a kill": (*portal).kill}
}

// kill ends the portal and the agents like kill -9.
func (p *portal) kill() {
	p.t.Helper()
	p.dead.Store(true)
	require.NoError(p.t, p.store.Kill())
	p.agents.Kill()
	p.host.Close(context.Background()) // no one sees the results
	synctest.Wait()
}

func (p *portal) start() *copilot.Session {
	p.t.Helper()
	s, err := p.host.Start(p.t.Context(), copilot.Start{Origin: "test", Directory: p.work, AskUser: true})
	require.NoError(p.t, err)
	return s
}

func (p *portal) session(id string) *copilot.Session {
	p.t.Helper()
	s, err := p.host.Session(p.t.Context(), id)
	require.NoError(p.t, err)
	return s
}

// settle waits until everything is stored.
func settle() { time.Sleep(time.Second) }

// past reads the whole record as it is now.
func past(t *testing.T, s *copilot.Session) []journal.Entry[event.Event] {
	t.Helper()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	var all []journal.Entry[event.Event]
	for after := uint64(0); after < s.Record().Last(); {
		entries, err := s.Record().Next(now, after, 0)
		require.NoError(t, err)
		all = append(all, entries...)
		after = entries[len(entries)-1].N
	}
	return all
}

// plot is the story of a session without superseded deltas.
func plot(t *testing.T, s *copilot.Session) []string {
	t.Helper()
	var lines []string
	for _, e := range past(t, s) {
		if line := tell(e.Value.Body); line != "" && !e.Superseded {
			lines = append(lines, line)
		}
	}
	return lines
}

func prompt(t *testing.T, s *copilot.Session, text string) {
	t.Helper()
	_, err := s.Prompt(event.Prompt{Text: text})
	require.NoError(t, err)
}

func TestSessionSurvivesItsProcess(t *testing.T) {
	for name, end := range endings() {
		atHome(t, "after "+name+" it continues with its past, which the agent knows, too", func(h *home) {
			t := h.t
			p := h.portal()
			s := p.start()
			prompt(t, s, "first")
			settle()
			before := past(h.t, s)
			end(p)

			p = h.portal()
			defer p.stop()
			s = p.session(s.ID())
			assert.Equal(t, copilot.StateIdle, s.Info().State)
			after := past(h.t, s)
			for i, e := range before {
				assert.Equal(t, e.N, after[i].N)
				assert.Equal(t, e.Value.Body, after[i].Value.Body)
				assert.True(t, e.Value.Time.Equal(after[i].Value.Time))
			}
			h.agents.Script = func(t *fake.Turn) { t.Say("after " + t.Past[0]) }
			prompt(t, s, "second")
			settle()
			assert.Contains(t, plot(h.t, s), "says: after first")
			opened := h.agents.Calls(fake.Open)
			assert.True(t, opened[len(opened)-1].Opening.Resume)
		})
	}
	atHome(t, "with all its properties", func(h *home) {
		t := h.t
		p := h.portal()
		tools := []event.Tool{{Name: "git.commit", Description: "commits", Schema: []byte(`{"type":"object"}`), Limit: time.Minute}}
		s, err := p.host.Start(t.Context(), copilot.Start{
			Origin: "test", Directory: h.work, Model: "model-b", AskUser: true, Policy: permission.Everywhere(permission.Deny), Tools: tools,
		})
		require.NoError(t, err)
		h.agents.Emit(s.ID(), event.TitleChanged{Title: "Letters"}, event.UsageChanged{Used: 1, Limit: 2}, event.ModelCalled{Input: 3, Output: 4})
		require.NoError(t, s.SetRules(permission.Policy{"fs.read": permission.Allow}))
		settle()
		want := s.Info()
		p.kill()

		p = h.portal()
		defer p.stop()
		list, _, err := p.host.Sessions(t.Context(), "", 0)
		require.NoError(t, err)
		require.Len(t, list, 1)
		got := p.session(s.ID()).Info()
		assert.Equal(t, list[0], got)
		assert.True(t, want.Created.Equal(got.Created))
		got.Created, got.Changed, want.Changed = want.Created, time.Time{}, time.Time{}
		assert.Equal(t, want, got)

		prompt(t, p.session(s.ID()), "go on")
		settle()
		opening := h.agents.Calls(fake.Open)[1].Opening
		assert.Equal(t, tools, opening.Tools)
		assert.True(t, opening.AskUser)
		assert.Equal(t, "model-b", opening.Model)
	})
	atHome(t, "a closed session stays closed until it is reopened", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		settle()
		s.Close()
		settle()
		p.kill()

		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		assert.Equal(t, copilot.StateClosed, s.Info().State)
		_, err := s.Prompt(event.Prompt{Text: "x"})
		require.ErrorIs(t, err, fault.ErrSessionClosed)
		_, err = s.Record().Next(t.Context(), s.Record().Last(), 0)
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, s.Reopen(t.Context()))
		prompt(t, s, "second")
		settle()
		assert.Contains(t, plot(t, s), "says: second")
	})
}

func TestInterruptedRun(t *testing.T) {
	cut := func(h *home, script func(*fake.Turn), prompts ...string) (*portal, *copilot.Session) {
		p := h.portal()
		h.agents.Script = script
		s := p.start()
		for _, text := range prompts {
			prompt(h.t, s, text)
		}
		settle()
		p.kill()
		h.agents.Script = nil
		return h.portal(), s
	}
	atHome(t, "is marked as interrupted, with its text", func(h *home) {
		t := h.t
		p, s := cut(h, func(t *fake.Turn) {
			t.Emit(event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: "I beg"})
			t.Wait(time.Hour)
		}, "first")
		defer p.stop()
		require.NoError(t, p.host.Recover(t.Context()))
		s = p.session(s.ID())
		all := past(t, s)
		end := all[len(all)-1].Value
		assert.Equal(t, event.RunEnded{Outcome: event.Interrupted, Text: "the portal ended in the middle of it"}, end.Body)
		assert.Equal(t, all[len(all)-2].Value.Run, end.Run)
		assert.Equal(t, event.MessageEnded{ID: "m", Text: "I beg", Cut: true}, all[len(all)-2].Value.Body)
		assert.Equal(t, copilot.StateIdle, s.Info().State)
		assert.Zero(t, p.store.Failure())
		prompt(t, s, "second")
		settle()
		assert.Contains(t, plot(t, s), "says: second")
	})
	atHome(t, "is marked by the next use of the session", func(h *home) {
		t := h.t
		p, s := cut(h, untilAborted, "first")
		defer p.stop()
		s = p.session(s.ID())
		prompt(t, s, "second")
		settle()
		assert.Equal(t, []string{"interrupted", "opened with model-a", "starts"}, plot(t, s)[4:7])
	})
	atHome(t, "queued prompts are marked, too", func(h *home) {
		t := h.t
		p, s := cut(h, untilAborted, "first", "second", "third")
		defer p.stop()
		require.NoError(t, p.host.Recover(t.Context()))
		got := plot(t, p.session(s.ID()))
		assert.Equal(t, []string{
			"interrupted", "starts", "user: second", "interrupted", "starts", "user: third", "interrupted",
		}, got[len(got)-7:])
	})
	atHome(t, "an open question is closed", func(h *home) {
		t := h.t
		p, s := cut(h, func(t *fake.Turn) {
			t.Ask(event.Question{ID: "q", Kind: event.AskInput, Text: "which?", Freeform: true})
		}, "first")
		defer p.stop()
		require.NoError(t, p.host.Recover(t.Context()))
		s = p.session(s.ID())
		all := past(t, s)
		assert.Equal(t, event.QuestionClosed{ID: "q", Kind: event.AskInput, Ending: event.Expired}, all[len(all)-2].Value.Body)
		require.Error(t, s.Answer("q", event.Answer{Text: "this"}, "test"))
	})
}

// asksToRun is a script that asks to run a command.
func asksToRun(t *fake.Turn) {
	if t.Prompt != "first" {
		fake.Echo(t)
		return
	}
	a, ok := t.Ask(event.Question{ID: "q", Kind: event.AskPermission, Names: []string{"exec.run"}, Title: "run", Detail: "ls"})
	if ok {
		t.Say("approved: " + map[bool]string{true: "yes", false: "no"}[a.Approved])
	}
}

func TestRecoveredQuestionReachesAgent(t *testing.T) {
	asked := func(h *home, end func(*portal)) (*portal, *copilot.Session) {
		p := h.portal()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(h.t, s, "first")
		prompt(h.t, s, "behind it")
		settle()
		assert.Equal(h.t, copilot.StateWaiting, s.Info().State)
		end(p)
		p = h.portal()
		require.NoError(h.t, p.host.Recover(h.t.Context()))
		require.NoError(h.t, p.host.ReopenQuestions(h.t.Context()))
		s = p.session(s.ID())
		assert.Equal(h.t, copilot.StateWaiting, s.Info().State)
		return p, s
	}
	for i, approved := range []bool{true, false, true, false} {
		end := []func(*portal){(*portal).kill, (*portal).stop}[i/2]
		atHome(t, "is answered, and the run continues", func(h *home) {
			t := h.t
			p, s := asked(h, end)
			defer p.stop()
			time.Sleep(time.Hour)
			require.NoError(t, s.Answer("q", event.Answer{Approved: approved}, "test"))
			settle()
			says := "says: approved: " + map[bool]string{true: "yes", false: "no"}[approved]
			got := plot(t, s)
			i := slices.Index(got, says)
			require.Positive(t, i, "%q", got)
			assert.Equal(t, "completed", got[i+1])
			assert.Equal(t, "user: behind it", got[i+3])
			require.ErrorIs(t, s.Answer("q", event.Answer{Approved: approved}, "test"), fault.ErrAlreadyAnswered)
		})
	}
	atHome(t, "is cancelled with its run", func(h *home) {
		t := h.t
		p, s := asked(h, (*portal).kill)
		defer p.stop()
		require.NoError(t, s.Cancel(""))
		settle()
		got := plot(t, s)
		i := slices.Index(got, "cancelled")
		require.Positive(t, i, "%q", got)
		assert.Equal(t, "user: behind it", got[i+2])
	})
	atHome(t, "survives any number of kills", func(h *home) {
		t := h.t
		p, s := asked(h, (*portal).kill)
		for range 3 {
			settle()
			p.kill()
			p = h.portal()
			require.NoError(t, p.host.Recover(t.Context()))
		}
		defer p.stop()
		s = p.session(s.ID())
		require.NoError(t, s.Answer("q", event.Answer{Approved: true}, "test"))
		settle()
		assert.Contains(t, plot(t, s), "says: approved: yes")
	})
}

func TestQueuedPromptKeepsItsTools(t *testing.T) {
	for name, end := range endings() {
		atHome(t, "over "+name, func(h *home) {
			t := h.t
			p := h.portal()
			h.agents.Script = asksToRun
			s := p.start()
			prompt(t, s, "first")
			_, err := s.Prompt(event.Prompt{Text: "second", Tools: toolsNamed("b")})
			require.NoError(t, err)
			settle()
			end(p)
			p = h.portal()
			defer p.stop()
			require.NoError(t, p.host.Recover(t.Context()))
			require.NoError(t, p.host.ReopenQuestions(t.Context()))
			s = p.session(s.ID())
			require.NoError(t, s.Answer("q", event.Answer{Approved: true}, "test"))
			settle()
			assert.Contains(t, plot(t, s), "says: second")
			opened := h.agents.Calls(fake.Open)
			assert.Equal(t, *toolsNamed("b"), opened[len(opened)-1].Opening.Tools)
		})
	}
}

// forgetsQuestions are the options of a portal whose agent does not ask again in another process.
func forgetsQuestions() copilot.Options {
	return copilot.Options{Capabilities: func() []agent.Capability {
		return slices.DeleteFunc(agent.Capabilities(), func(c agent.Capability) bool { return c == agent.Continuing })
	}}
}

func TestQuestionEndsWithAgentThatDoesNotAskAgain(t *testing.T) {
	for _, tc := range []struct {
		name, ending string
		end          func(*portal)
	}{{"after a stop", "q is cancelled", (*portal).stop}, {"after a kill", "q is expired", (*portal).kill}} {
		atHome(t, tc.name, func(h *home) {
			t := h.t
			p := h.portalWith(forgetsQuestions())
			h.agents.Script = asksToRun
			s := p.start()
			prompt(t, s, "first")
			settle()
			tc.end(p)
			p = h.portalWith(forgetsQuestions())
			defer p.stop()
			require.NoError(t, p.host.Recover(t.Context()))
			require.NoError(t, p.host.ReopenQuestions(t.Context()))
			s = p.session(s.ID())
			got := plot(t, s)
			i := slices.Index(got, tc.ending)
			require.Positive(t, i, "%q", got)
			assert.Equal(t, "interrupted", got[i+1])
			assert.Equal(t, copilot.StateIdle, s.Info().State)
			require.Error(t, s.Answer("q", event.Answer{Approved: true}, "test"))
		})
	}
}

func TestSessionHasOneOwner(t *testing.T) {
	atHome(t, "other processes can only read it", func(h *home) {
		t := h.t
		a, b := h.portal(), h.portal()
		defer b.stop()
		s := a.start()
		prompt(t, s, "first")
		settle()
		other := b.session(s.ID())
		assert.Equal(t, copilot.StateElsewhere, other.Info().State)
		assert.NotZero(t, other.Info().Owner)
		for _, use := range []func() error{
			func() error { _, err := other.Prompt(event.Prompt{Text: "x"}); return err },
			func() error { return other.Cancel("") },
			func() error { return other.Rename(t.Context(), "mine") },
			func() error { return other.Reopen(t.Context()) },
			func() error { return b.host.Delete(t.Context(), s.ID()) },
		} {
			require.ErrorIs(t, use(), fault.ErrSessionInUse)
		}
		at := other.Record().Last()
		prompt(t, s, "second")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := other.Record().Next(ctx, at, 0)
		require.NoError(t, err, "readers elsewhere see events within a second")
		settle()
		assert.Equal(t, plot(t, s), plot(t, other))

		a.stop()
		other = b.session(s.ID())
		assert.Equal(t, copilot.StateIdle, other.Info().State)
		prompt(t, other, "third")
		settle()
		assert.Contains(t, plot(t, other), "says: third")
	})
	atHome(t, "readers continue when another process acquires it", func(h *home) {
		t := h.t
		a := h.portal()
		s := a.start()
		prompt(t, s, "first")
		settle()
		a.stop()
		b, c := h.portal(), h.portal()
		defer c.stop()
		reader := c.session(s.ID())
		at := reader.Record().Last()
		prompt(t, b.session(s.ID()), "second")
		settle()
		b.kill()
		reader = c.session(s.ID())
		entries, err := reader.Record().Next(t.Context(), at, 0)
		require.NoError(t, err)
		assert.Equal(t, at+1, entries[0].N)
		prompt(t, reader, "third")
		settle()
		assert.Subset(t, plot(t, reader), []string{"says: first", "says: second", "says: third"})
	})
}

func TestPositionsAfterRestart(t *testing.T) {
	atHome(t, "stored positions are valid, unstored ones are a gap", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = func(t *fake.Turn) {
			t.Say("stored")
			t.Wait(time.Hour)
			t.Say("lost")
		}
		s := p.start()
		prompt(t, s, "first")
		settle()
		kept := s.Record().Position(s.Record().Last())
		require.NoError(t, p.store.Kill()) // the disk dies first
		time.Sleep(2 * time.Hour)
		lost := s.Record().Position(s.Record().Last())
		assert.Greater(t, lost.N, kept.N)
		p.kill()

		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		prompt(t, s, "second")
		settle()
		n, err := s.Record().After(kept)
		require.NoError(t, err)
		assert.Equal(t, kept.N, n)
		_, err = s.Record().After(lost)
		var gap *journal.GapError
		require.ErrorAs(t, err, &gap)
		assert.True(t, gap.Stale)
		assert.Equal(t, kept.N+1, gap.First)
	})
	atHome(t, "stored positions of readers are kept", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		settle()
		s.SetReaderPosition("a", 3)
		s.SetReaderPosition("b", 1_000_000)
		s.SetReaderPosition("c", 2)
		s.SetReaderPosition("c", 0)
		settle()
		last := s.Record().Last()
		p.kill()
		p = h.portal()
		defer p.stop()
		marks, err := p.session(s.ID()).ReaderPositions(t.Context())
		require.NoError(t, err)
		assert.Equal(t, map[string]uint64{"a": 3, "b": last}, marks)
	})
}
