package copilot_test

import (
	"testing"

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
