package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

func TestPinnedSessionsAreListed(t *testing.T) {
	s := open(t, t.TempDir())
	a, b, c := create(t, s, "a"), create(t, s, "b"), create(t, s, "c")
	born, err := s.Create(t.Context(), store.Session{ID: "born", Pinned: true})
	require.NoError(t, err)
	pinned := func(limit int) (ids []string) {
		require.NoError(t, s.Flush(t.Context()))
		list, err := s.Pinned(t.Context(), limit)
		require.NoError(t, err)
		for _, one := range list {
			ids = append(ids, one.ID)
		}
		return ids
	}
	assert.Equal(t, []string{"born"}, pinned(10))
	require.NoError(t, born.Release(t.Context()))
	require.NoError(t, s.Delete(t.Context(), "born"))
	now := time.Now()
	for i, l := range []*store.Lease{a, b, c} {
		require.NoError(t, l.Update(store.Session{ID: l.Session(), Pinned: i < 2, Changed: now.Add(time.Duration(i) * time.Hour)}))
	}
	assert.Equal(t, []string{"b", "a"}, pinned(10))
	assert.Equal(t, []string{"b"}, pinned(1))
	require.NoError(t, b.Update(store.Session{ID: "b", Changed: now}))
	assert.Equal(t, []string{"a"}, pinned(10))
	require.NoError(t, a.Release(t.Context()))
	require.NoError(t, s.Delete(t.Context(), "a"))
	assert.Empty(t, pinned(10))
}
