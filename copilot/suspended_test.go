package copilot_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestSuspendedSessionIsClosed(t *testing.T) {
	atHome(t, "until it is reopened in any process", func(h *home) {
		t := h.t
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		settle()
		p.stop()

		p = h.portal()
		s = p.session(s.ID())
		require.NoError(t, s.Close())
		assert.Equal(t, copilot.StateClosed, s.Info().State)
		_, err := s.Prompt(event.Prompt{Text: "x"})
		require.ErrorIs(t, err, fault.ErrSessionClosed)
		before := plot(t, s)
		require.NoError(t, s.Close(), "closing twice")
		settle()
		assert.Equal(t, before, plot(t, s))
		assert.Zero(t, p.session(s.ID()).Info().Owner)
		p.stop()

		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		assert.Equal(t, copilot.StateClosed, s.Info().State)
		require.NoError(t, s.Reopen(t.Context()))
		prompt(t, s, "second")
		settle()
		assert.Contains(t, plot(t, s), "says: second")
	})
	atHome(t, "except while another process holds it", func(h *home) {
		t := h.t
		a, b := h.portal(), h.portal()
		defer a.stop()
		defer b.stop()
		s := a.start()
		settle()
		require.ErrorIs(t, b.session(s.ID()).Close(), fault.ErrSessionInUse)
		prompt(t, s, "first")
		settle()
		assert.Contains(t, plot(t, s), "says: first")
	})
	atHome(t, "with the run that a kill interrupted in a question", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = asksToRun
		s := p.start()
		prompt(t, s, "first")
		prompt(t, s, "behind it")
		settle()
		p.kill()

		p = h.portal()
		defer p.stop()
		s = p.session(s.ID())
		require.NoError(t, s.Close())
		settle()
		got := plot(t, s)
		assert.Contains(t, got, "cancelled")
		assert.NotContains(t, got, "user: behind it")
		assert.Equal(t, copilot.StateClosed, p.session(s.ID()).Info().State)
		require.NoError(t, s.Reopen(t.Context()))
		prompt(t, s, "second")
		settle()
		assert.Contains(t, plot(t, s), "says: second")
	})
}

func TestSessionBeyondLimitReleasesItsLease(t *testing.T) {
	atHome(t, "so others can use it", func(h *home) {
		t := h.t
		p := h.portal()
		h.agents.Script = asksToRun
		first, second := p.start(), p.start()
		prompt(t, first, "first")
		prompt(t, second, "first")
		settle()
		p.kill()

		full, free := h.portalWith(copilot.Options{Limits: copilot.Limits{Sessions: 1}}), h.portal()
		defer full.stop()
		defer free.stop()
		require.NoError(t, full.host.Recover(t.Context()))
		settle()
		resumed := 0
		for _, s := range []*copilot.Session{first, second} {
			if s = free.session(s.ID()); s.Info().Owner != 0 {
				continue
			}
			resumed++
			require.NoError(t, s.Answer("q", event.Answer{Approved: true}, "test"))
			settle()
			assert.Contains(t, plot(t, s), "says: approved: yes")
		}
		assert.Equal(t, 1, resumed)
	})
}

// suspended returns the id of a session with a run, and two processes in which nobody uses it.
func (h *home) suspended() (id string, a, b *portal) {
	h.t.Helper()
	p := h.portal()
	s := p.start()
	prompt(h.t, s, "first")
	settle()
	p.stop()
	return s.ID(), h.portal(), h.portal()
}

func TestEntriesThatTheNextOwnerNeverHadLeaveMemory(t *testing.T) {
	atHome(t, "when its record is longer", func(h *home) {
		t := h.t
		id, a, b := h.suspended()
		defer a.stop()
		defer b.stop()
		lost := a.session(id)
		lost.AppendUnstored(event.Notice{Kind: "unstored"})
		prompt(t, b.session(id), "second") // a longer record
		settle()
		assert.Equal(t, plot(t, b.session(id)), plot(t, a.session(id)))
	})
}

func TestRecordDoesNotGrowBeyondItsHead(t *testing.T) {
	atHome(t, "while another process begins an epoch", func(h *home) {
		t := h.t
		id, a, b := h.suspended()
		defer a.stop()
		defer b.stop()
		before, err := a.store.Session(t.Context(), id)
		require.NoError(t, err)
		prompt(t, b.session(id), "second")
		settle()
		before.Last--
		reader, err := a.host.Restored(before)
		require.NoError(t, err)
		before.Last++
		require.NoError(t, reader.SyncFromStore(t.Context(), before))
		assert.Equal(t, before.Last, reader.Record().Last())
	})
}

// change changes the database like another program.
func (h *home) change(query string, args ...any) {
	h.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(h.directory, "sessions.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(h.t, err)
	defer db.Close()
	_, err = db.ExecContext(context.Background(), query, args...)
	require.NoError(h.t, err)
}

// takeAway ends the lease of a session, as another process does that takes it over, and waits until its holder knows.
func (p *portal) takeAway(id string) {
	p.t.Helper()
	p.change("UPDATE session SET owner = NULL, epoch = epoch + 1 WHERE id = ?", id)
	time.Sleep(5 * time.Second) // until the heartbeat
	p.host.SessionsChanged([]string{id})
	settle()
}

func TestSessionThatIsLoadedAgainKeepsItsServersAndWatchers(t *testing.T) {
	for name, lose := range map[string]func(a, b *portal, s *copilot.Session){
		"when its record continues elsewhere": func(a, b *portal, s *copilot.Session) {
			s.AppendUnstored(event.Notice{Kind: "unstored"})
			prompt(a.t, b.session(s.ID()), "second")
			settle()
			assert.NotSame(a.t, s, a.session(s.ID()))
		},
		"when another process took it over": func(a, _ *portal, s *copilot.Session) {
			prompt(a.t, s, "second")
			settle()
			a.takeAway(s.ID())
			assert.True(a.t, s.IsEvicted())
		},
	} {
		atHome(t, name, func(h *home) {
			t := h.t
			id, a, b := h.suspended()
			defer a.stop()
			s := a.session(id)
			require.NoError(t, s.SetServers(serversNamed("one")))
			deleted, forget := a.host.WatchDeleted(id)
			defer forget()
			lose(a, b, s)
			b.stop()
			select {
			case <-deleted:
				t.Error("it counts as deleted")
			default:
			}
			prompt(t, a.session(id), "third")
			settle()
			assert.Equal(t, []string{"one"}, lastOpened(h.agents))
		})
	}
}

func TestSessionIsFollowedAfterAFailedRead(t *testing.T) {
	atHome(t, "of the store that its holder writes", func(h *home) {
		a, b := h.portal(), h.portal()
		defer a.stop()
		defer b.stop()
		s := a.start()
		settle()
		there := b.session(s.ID())
		h.change("ALTER TABLE session RENAME TO unreadable")
		settle()
		h.change("ALTER TABLE unreadable RENAME TO session")
		prompt(h.t, s, "first")
		time.Sleep(5 * time.Second) // the holder's writes may have failed, too
		assert.Contains(h.t, plot(h.t, there), "says: first")
	})
}

func TestSessionThatIsTakenOverWhileItIsReopenedStaysInactive(t *testing.T) {
	atHome(t, "until its next use", func(h *home) {
		t := h.t
		p := h.portalWith(copilot.Options{Limits: copilot.Limits{Sessions: 1}})
		defer p.stop()
		s, reopened := p.reopening(slowly(20 * time.Second))
		p.takeAway(s.ID())
		assert.Equal(t, fault.Unavailable, fault.KindOf(<-reopened))
		assert.Zero(t, h.agents.Held(), "its conversation is closed")
		h.agents.Before = nil
		s = p.session(s.ID())
		require.NoError(t, s.Reopen(t.Context()))
		prompt(t, s, "second")
		settle()
		assert.Contains(t, plot(t, s), "says: second")
	})
}
