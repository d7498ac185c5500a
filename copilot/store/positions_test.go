package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

func TestPositionsInFreeSessions(t *testing.T) {
	directory := t.TempDir()
	s, err := store.Open(t.Context(), store.Options{Directory: directory})
	require.NoError(t, err)
	lease, err := s.Create(t.Context(), store.Session{ID: "a"})
	require.NoError(t, err)
	require.NoError(t, lease.Position("held", 1))
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, s.SetPosition("a", "one", 5))
	require.NoError(t, s.SetPosition("a", "one", 7))
	require.NoError(t, s.SetPosition("a", "held", 0))
	require.NoError(t, s.SetPosition("nobody", "x", 1))
	require.ErrorIs(t, s.SetPosition("a", "x", 1<<63), store.ErrOrder)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.SetPosition("a", "x", 1), store.ErrClosed)

	s, err = store.Open(t.Context(), store.Options{Directory: directory})
	require.NoError(t, err)
	defer s.Close()
	marks, err := s.Positions(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, map[string]uint64{"one": 7}, marks)
}

func TestHolderSetsTheChangeTime(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Directory: t.TempDir()})
	require.NoError(t, err)
	defer s.Close()
	lease, err := s.Create(t.Context(), store.Session{ID: "a"})
	require.NoError(t, err)
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	require.NoError(t, lease.Update(store.Session{Changed: at}))
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, lease.Append(store.Entry{Number: 1}))
	require.NoError(t, s.Flush(t.Context()))
	head, err := s.Session(t.Context(), "a")
	require.NoError(t, err)
	assert.True(t, at.Equal(head.Changed))
}
