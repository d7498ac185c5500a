package store_test

import (
	"testing"
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
