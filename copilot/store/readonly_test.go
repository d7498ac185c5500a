package store_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/flock"
	"github.com/copilot-portal/portal/copilot/store"
)

// A directory in place of the lock file keeps every process from writing, root included.
func TestUnwritableFileIsReadUntilItCanBeWritten(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	fill(t, s, create(t, s, "a"), 1, 100)
	require.NoError(t, s.Close())
	lock := file(directory) + ".lock"
	require.NoError(t, os.RemoveAll(lock))
	require.NoError(t, os.Mkdir(lock, 0o700))

	s = open(t, directory, func(o *store.Options) { o.Busy, o.Heartbeat = 50*time.Millisecond, 20*time.Millisecond })
	require.Equal(t, store.ReadOnly, s.Failure().Kind)
	require.True(t, s.Failing())
	same(t, all(t, s, "a"), 1, 100)
	_, err := s.Create(t.Context(), store.Session{ID: "b"})
	var trouble *store.Failure
	require.ErrorAs(t, err, &trouble)
	require.Equal(t, store.ReadOnly, trouble.Kind)
	require.NoError(t, s.Close(), "nothing is lost")

	s = open(t, directory, func(o *store.Options) { o.Busy, o.Heartbeat = 50*time.Millisecond, 20*time.Millisecond })
	require.NoError(t, os.Remove(lock))
	until(t, s, "")
	fill(t, s, create(t, s, "b"), 1, 10)
	same(t, all(t, s, "a"), 1, 100)
}

func TestLockedFileIsReadUntilItCanBeWritten(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	fill(t, s, create(t, s, "a"), 1, 100)
	require.NoError(t, s.Close())
	held, err := flock.Lock(t.Context(), file(directory)+".lock")
	require.NoError(t, err)
	defer held.Close()

	busy := func(o *store.Options) { o.Busy = 50 * time.Millisecond }
	s = open(t, directory, busy)
	require.Equal(t, store.Locked, s.Failure().Kind)
	same(t, all(t, s, "a"), 1, 100)
	require.NoError(t, s.Close(), "nothing is lost")

	s = open(t, directory, busy)
	require.NoError(t, held.Close())
	until(t, s, "")
	fill(t, s, create(t, s, "b"), 1, 10)
	same(t, all(t, s, "a"), 1, 100)
}
