package store_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

func TestKilledStoreEqualsKilledProcess(t *testing.T) {
	directory := t.TempDir()
	s, other := open(t, directory, func(o *store.Options) { o.Delay = time.Hour }), open(t, directory)
	l := create(t, s, "a")
	fill(t, s, l, 1, 3)
	require.NoError(t, l.Append(entry(4)))
	var held *store.InUseError
	_, err := other.Acquire(t.Context(), "a")
	require.ErrorAs(t, err, &held)
	require.Equal(t, os.Getpid(), held.PID)

	require.NoError(t, s.Kill())
	require.ErrorIs(t, l.Append(entry(5)), store.ErrClosed)
	require.NoError(t, s.Close(), "a second Close changes nothing")
	_, err = s.Session(t.Context(), "a")
	require.Error(t, err)
	ids, err := other.Orphans(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids)
	l, err = other.Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 2, l.Epoch())
	require.EqualValues(t, 3, l.Stored(), "entries not yet written are lost")
	fill(t, other, l, 4, 5)
	same(t, all(t, other, "a"), 1, 5)
}

func TestKilledStoresAmongLiveOnes(t *testing.T) {
	directory := t.TempDir()
	keeper := open(t, directory)
	create(t, keeper, "kept")
	for range 5 {
		s := open(t, directory)
		l, err := s.Acquire(t.Context(), "a")
		if err != nil {
			require.ErrorIs(t, err, store.ErrNotFound)
			l = create(t, s, "a")
		}
		fill(t, s, l, l.Stored()+1, l.Stored()+10)
		require.NoError(t, s.Kill())
	}
	ids, err := keeper.Orphans(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids)
	same(t, all(t, keeper, "a"), 1, 50)
	var held *store.InUseError
	_, err = open(t, directory).Acquire(t.Context(), "kept")
	require.ErrorAs(t, err, &held)
}

func TestKillIsReportedByHeartbeat(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, func(o *store.Options) { o.Busy = 20 * time.Millisecond })
	create(t, s, "a")
	hold(t, directory)
	require.ErrorContains(t, s.Kill(), "locked")
}

func TestCloseEndsThoughNothingCanBeWritten(t *testing.T) {
	directory := t.TempDir()
	const busy = time.Second
	s := open(t, directory, func(o *store.Options) { o.Busy = busy })
	l := create(t, s, "a")
	hold(t, directory)
	require.NoError(t, l.Append(entry(1)))
	const calls = 60
	waits := make(chan error, calls)
	for range calls { // each would wait for the lock
		go func() { waits <- s.Flush(t.Context()) }()
	}
	until(t, s, store.Locked)
	started := time.Now()
	require.ErrorContains(t, s.Close(), "cannot store 1 entries")
	require.Less(t, time.Since(started), calls*busy/2)
	for range calls {
		require.Error(t, <-waits)
	}
}

// The disk is full for longer than a heartbeat may be late, and other processes cannot check this one's process id.
func TestSilentOwnerOverwritesNothing(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, func(o *store.Options) { o.MaxBytes, o.Heartbeat = 1<<20, 20*time.Millisecond })
	l := create(t, s, "a")
	fill(t, s, l, 1, 10)
	change(t, directory, "UPDATE owner SET host = 'elsewhere'")
	require.NoError(t, l.Append(store.Entry{Number: 11, Data: make([]byte, 2<<20), Payload: nil}))
	until(t, s, store.Full)
	other := open(t, directory, func(o *store.Options) { o.Heartbeat = 20 * time.Millisecond })
	var acquired *store.Lease
	require.Eventually(t, func() (ok bool) {
		var err error
		acquired, err = other.Acquire(t.Context(), "a")
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	fill(t, other, acquired, 11, 20)
	awaitLost(t, l)
	require.ErrorIs(t, l.Append(entry(12)), store.ErrLost)
	until(t, s, "")
	same(t, all(t, other, "a"), 1, 20)
}
