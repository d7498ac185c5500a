package copilot_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/memlog"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// confirmTime is how long a node waits for the confirmation of a position.
const confirmTime = 10 * time.Second

// node starts a portal that is the only node of a cluster.
func (h *home) node() *portal {
	h.t.Helper()
	return h.nodeOf(memlog.NewServer())
}

func (h *home) nodeOf(server *memlog.Server) *portal {
	h.t.Helper()
	n := cluster.New(&memlog.Log{Server: server}, cluster.Options{
		Name: "test", Node: "a", Lease: confirmTime, Log: slog.New(slog.DiscardHandler),
	})
	h.options.Cluster = n
	p := h.portalWith(copilot.Options{Remote: n})
	require.NoError(h.t, n.Join(h.t.Context(), p.store))
	n.Start(h.t.Context(), func([]string) {}, func() cluster.State { return cluster.State{} })
	h.t.Cleanup(n.Close)
	settle() // a node is cut off until it hears itself
	return p
}

// nextEpoch returns a session, and a position in the epoch before its current one.
func (p *portal) nextEpoch() (s *copilot.Session, before journal.Position) {
	p.t.Helper()
	s = p.start()
	prompt(p.t, s, "first")
	settle()
	before = s.Record().Position(5)
	time.Sleep(time.Hour) // idle sessions are suspended
	prompt(p.t, s, "second")
	settle()
	require.NotEqual(p.t, s.Record().Epoch(), before.Epoch)
	return s, before
}

// announced returns a session, and a position in it that is announced to a reader.
func (p *portal) announced() (s *copilot.Session, at journal.Position) {
	p.t.Helper()
	s = p.start()
	prompt(p.t, s, "first")
	settle()
	at = s.Record().Position(5)
	require.NoError(p.t, s.AnnounceReaderPosition(p.t.Context(), "live", at))
	return s, at
}

func TestReaderPosition(t *testing.T) {
	atHome(t, "one of an earlier epoch holds until a newer one is confirmed", func(h *home) {
		p := h.node()
		defer p.stop()
		s, before := p.nextEpoch()
		s.ConfirmReaderPosition("live", before)
		require.NoError(h.t, s.AnnounceReaderPosition(h.t.Context(), "live", s.Record().Position(s.Record().Last())))
		began := time.Now()
		n, err := s.ReaderPosition(h.t.Context(), "live", &copilot.Unconfirmed{})
		require.NoError(h.t, err)
		assert.Equal(h.t, before.N, n)
		assert.GreaterOrEqual(h.t, time.Since(began), confirmTime)
	})
	atHome(t, "one that is announced again is waited for again", func(h *home) {
		p := h.node()
		defer p.stop()
		s, at := p.announced()
		var u copilot.Unconfirmed
		ctx, cancel := context.WithTimeout(h.t.Context(), confirmTime/2+time.Millisecond)
		defer cancel()
		_, err := s.ReaderPosition(ctx, "live", &u)
		require.ErrorIs(h.t, err, context.DeadlineExceeded)
		require.NoError(h.t, s.AnnounceReaderPosition(h.t.Context(), "live", at))
		synctest.Wait()
		began := time.Now()
		_, err = s.ReaderPosition(h.t.Context(), "live", &u)
		require.NoError(h.t, err)
		assert.GreaterOrEqual(h.t, time.Since(began), confirmTime)
	})
	atHome(t, "nothing waits for one that is withdrawn", func(h *home) {
		p := h.node()
		defer p.stop()
		s, at := p.announced()
		s.WithdrawReaderPosition("live", at)
		began := time.Now()
		n, err := s.ReaderPosition(h.t.Context(), "live", &copilot.Unconfirmed{})
		require.NoError(h.t, err)
		assert.Zero(h.t, n)
		assert.Less(h.t, time.Since(began), time.Second)
	})
}

// Its client may go to another node.
func TestNewSessionIsSharedAtOnce(t *testing.T) {
	atHome(t, "also a fork", func(h *home) {
		server := memlog.NewServer()
		p := h.nodeOf(server)
		defer p.stop()
		isShared := func(s *copilot.Session) bool {
			return slices.ContainsFunc(server.Messages(), func(m memlog.Stored) bool { return m.Subject == store.SessionSubject(s.ID()) })
		}
		s := p.start()
		assert.True(h.t, isShared(s))
		prompt(h.t, s, "first")
		settle()
		fork, err := p.host.Fork(h.t.Context(), s.ID(), copilot.Cut{})
		require.NoError(h.t, err)
		assert.True(h.t, isShared(fork))
	})
}
