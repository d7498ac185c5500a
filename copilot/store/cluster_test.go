package store_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

// node is a store of a cluster in which nothing happens.
func node(o *store.Options) { o.Cluster = struct{ store.Cluster }{} }

func TestFileOfANodeIsOnlyReadOutsideItsCluster(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	l := create(t, s, "a")
	fill(t, s, l, 1, 10)
	_, err := open(t, directory, node).Join(t.Context(), "team", "node-1")
	require.ErrorContains(t, err, "works with the data directory and without the cluster")
	require.NoError(t, l.Release(t.Context()))
	n := open(t, directory, node)
	_, err = n.Join(t.Context(), "team", "node-1")
	require.NoError(t, err)

	often := func(o *store.Options) { o.Heartbeat = 20 * time.Millisecond }
	late := open(t, directory, often)
	for _, plain := range []*store.Store{s, late} {
		_, err = plain.Acquire(t.Context(), "a")
		var failed *store.Failure
		require.ErrorAs(t, err, &failed)
		require.Equal(t, store.Clustered, failed.Kind)
		require.ErrorContains(t, err, `node "node-1" of the cluster "team"`)
		same(t, all(t, plain, "a"), 1, 10)
	}
	require.Equal(t, store.Clustered, late.Failure().Kind)
	require.NoError(t, s.Close(), "nothing is lost")

	require.NoError(t, n.Close())
	name, err := store.Leave(t.Context(), store.Options{Directory: directory})
	require.NoError(t, err)
	require.Equal(t, "team", name)
	until(t, late, "")
	l, err = late.Acquire(t.Context(), "a")
	require.NoError(t, err)
	fill(t, late, l, 11, 12)
	name, err = store.Leave(t.Context(), store.Options{Directory: directory})
	require.NoError(t, err)
	require.Empty(t, name)
}

func TestDirectoryOfASilentProcessJoinsACluster(t *testing.T) {
	directory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, directory, func(o *store.Options) { o.Heartbeat = time.Hour })
		create(t, s, "a")
		change(t, directory, "UPDATE owner SET host = 'elsewhere', beat = ?", time.Now().Add(-time.Minute).UnixMilli())
		n := open(t, directory, node)
		_, err := n.Join(t.Context(), "team", "node-1")
		require.NoError(t, err)
	})
}

func TestDamagedEntriesAreLoggedAsAGap(t *testing.T) {
	directory := t.TempDir()
	alone := func(o *store.Options) { o.Cluster = cutOff{} }
	s := open(t, directory, alone)
	_, err := s.Join(t.Context(), "team", "node-1")
	require.NoError(t, err)
	l := create(t, s, "a")
	for n := uint64(1); n <= 3; n++ {
		fill(t, s, l, n, n)
	}
	require.NoError(t, l.Release(t.Context()))
	require.NoError(t, s.Close())
	change(t, directory, "UPDATE segment SET data = zeroblob(length(data)) WHERE last = 2")
	s = open(t, directory, alone)
	var entries []store.Entry
	for after, more := uint64(0), true; more; {
		c, err := s.Change(t.Context(), "session/a", 0, after)
		require.NoError(t, err)
		entries = append(entries, c.Entries...)
		after, more = c.Last, c.More
	}
	require.Equal(t, []store.Entry{entry(1), {Number: 2}, entry(3)}, entries)
}

func TestSessionsOfOtherProcessesAreNotThoseOfOtherNodes(t *testing.T) {
	directory := t.TempDir()
	alone := func(o *store.Options) { o.Cluster = cutOff{} }
	s, process := open(t, directory, alone), open(t, directory, alone)
	_, err := s.Join(t.Context(), "team", "node-1")
	require.NoError(t, err)
	create(t, process, "process")
	create(t, s, "own")
	claim := store.Change{Subject: "session/node", Node: "node-2", Process: "p", Owner: &store.Owner{Key: 7, PID: 1}, Epoch: 1, Claim: true, Session: &store.Session{ID: "node"}}
	_, err = s.Apply(t.Context(), []store.Logged{{Change: claim, Sequence: 1}}, true)
	require.NoError(t, err)
	for want, list := range map[string]func(context.Context) ([]store.Session, error){"process": s.HeldByOthers, "node": s.HeldByNodes} {
		held, err := list(t.Context())
		require.NoError(t, err)
		require.Len(t, held, 1)
		require.Equal(t, want, held[0].ID)
	}
}

func TestSessionIsLostOnceToTheMessagesOfAnotherNode(t *testing.T) {
	var log bytes.Buffer
	s := open(t, t.TempDir(), func(o *store.Options) {
		o.Cluster, o.Log = cutOff{}, slog.New(slog.NewTextHandler(&log, nil))
		o.Delay = time.Hour
	})
	_, err := s.Join(t.Context(), "team", "node-1")
	require.NoError(t, err)
	l := create(t, s, "s")
	fill(t, s, l, 1, 2)
	require.NoError(t, l.Append(entry(3))) // not stored yet
	theirs := store.Change{Subject: "session/s", Node: "node-2", Process: "p", Owner: &store.Owner{Key: 7, PID: 1}, Epoch: 2, Last: 2}
	claim, group := theirs, theirs
	claim.Claim, claim.Session = true, &store.Session{ID: "s"}
	group.Version, group.Last, group.Entries = 1, 3, []store.Entry{entry(3)}
	_, err = s.Apply(t.Context(), []store.Logged{{Change: claim, Sequence: 1}, {Change: group, Sequence: 2}}, true)
	require.NoError(t, err)
	require.True(t, l.IsLost())
	require.NoError(t, s.Close())
	require.Equal(t, 1, strings.Count(log.String(), "was acquired by another process"), log.String())
}
