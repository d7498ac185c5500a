package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

func addShare(t *testing.T, s *store.Store, session, id string, expires time.Time) {
	t.Helper()
	added, err := s.AddShare(t.Context(), store.Share{ID: id, Session: session, Hash: []byte(id), Rights: "read", Created: time.Now(), Expires: expires}, 3)
	require.NoError(t, err)
	require.True(t, added)
}

func shareIDs(t *testing.T, s *store.Store, session string) (ids []string) {
	t.Helper()
	list, err := s.Shares(t.Context(), session)
	require.NoError(t, err)
	for _, x := range list {
		ids = append(ids, x.ID)
	}
	return ids
}

func TestSharesExpire(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	addShare(t, s, "a", "late", time.Now())
	addShare(t, s, "a", "valid", time.Now().Add(time.Hour))
	assert.Equal(t, []string{"valid"}, shareIDs(t, s, "a"))
	_, err := s.Share(t.Context(), "late")
	require.ErrorIs(t, err, store.ErrNotFound)
	assert.Equal(t, 1, count(t, directory, "SELECT count(*) FROM share"), "the expired share is deleted")
}

func TestSharesOfASessionAreLimited(t *testing.T) {
	s := open(t, t.TempDir())
	for _, id := range []string{"1", "2", "3"} {
		addShare(t, s, "a", id, time.Now().Add(time.Hour))
	}
	added, err := s.AddShare(t.Context(), store.Share{ID: "4", Session: "a", Hash: []byte("4"), Expires: time.Now().Add(time.Hour)}, 3)
	require.NoError(t, err)
	assert.False(t, added)
	addShare(t, s, "b", "other", time.Now().Add(time.Hour))
}

func TestLastUseOfAShareIsStored(t *testing.T) {
	s := open(t, t.TempDir())
	addShare(t, s, "a", "x", time.Now().Add(time.Hour))
	at := time.UnixMilli(time.Now().UnixMilli())
	require.NoError(t, s.UseShare(t.Context(), "x", at))
	require.NoError(t, s.UseShare(t.Context(), "x", at.Add(-time.Minute)), "an older use changes nothing")
	require.NoError(t, s.UseShare(t.Context(), "unknown", at))
	x, err := s.Share(t.Context(), "x")
	require.NoError(t, err)
	assert.Equal(t, at, x.Used)
}

func TestShareIsDeletedOnlyForItsSession(t *testing.T) {
	s := open(t, t.TempDir())
	addShare(t, s, "a", "x", time.Now().Add(time.Hour))
	deleted, err := s.DeleteShare(t.Context(), "b", "x")
	require.NoError(t, err)
	assert.False(t, deleted)
	deleted, err = s.DeleteShare(t.Context(), "a", "x")
	require.NoError(t, err)
	assert.True(t, deleted)
	assert.Empty(t, shareIDs(t, s, "a"))
}

func TestSharesAreDeletedWithTheirSession(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	a, b := create(t, s, "a"), create(t, s, "b")
	for _, id := range []string{"a", "b", "kept"} {
		addShare(t, s, id, "of "+id, time.Now().Add(time.Hour))
	}
	require.NoError(t, a.Release(t.Context()))
	require.NoError(t, s.Delete(t.Context(), "a"))
	require.NoError(t, b.Release(t.Context()))
	change(t, directory, "UPDATE session SET changed = 0")
	deleted, err := s.DeleteExpired(t.Context(), time.Minute, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, ids(deleted))
	assert.Empty(t, shareIDs(t, s, "a"))
	assert.Empty(t, shareIDs(t, s, "b"))
	assert.Equal(t, []string{"of kept"}, shareIDs(t, s, "kept"))
}
