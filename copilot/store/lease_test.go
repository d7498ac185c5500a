package store_test

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

func TestSessionHasOneOwner(t *testing.T) {
	directory := t.TempDir()
	first, second := open(t, directory), open(t, directory)
	l := create(t, first, "a")
	var held *store.InUseError
	for _, s := range []*store.Store{first, second} {
		_, err := s.Acquire(t.Context(), "a")
		require.ErrorAs(t, err, &held)
		require.Equal(t, os.Getpid(), held.PID)
		require.ErrorAs(t, s.Delete(t.Context(), "a"), &held)
	}
	fill(t, first, l, 1, 3)
	require.NoError(t, l.Release(t.Context()))
	l, err := second.Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 2, l.Epoch())
	require.EqualValues(t, 3, l.Stored())
	require.ErrorIs(t, l.Append(entry(3)), store.ErrOrder)
	_, err = second.Acquire(t.Context(), "b")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// Owners written by another process, and when their session can be acquired.
func TestOwnerIsDeadOnlyWhenProven(t *testing.T) {
	me := store.Started(os.Getpid())
	require.NotEmpty(t, me)
	type verdict string
	const held, gone, silent verdict = "held", "gone", "gone after five intervals"
	cases := map[string]struct {
		pid   int
		start string
		host  string // empty: this one
		late  time.Duration
		want  verdict
	}{
		"a live local process holds it, however late its heartbeat":       {os.Getpid(), me, "", time.Hour, held},
		"an owner whose process id was reused is gone":                    {os.Getpid(), "1", "", 0, gone},
		"a dead local process is gone at once":                            {1 << 30, "1", "", 0, gone},
		"a remote owner with a recent heartbeat is alive":                 {os.Getpid(), me, "elsewhere", 0, held},
		"a remote owner with an old heartbeat is gone if none follows":    {os.Getpid(), me, "elsewhere", time.Minute, silent},
		"a heartbeat in the future does not prove that the owner is gone": {os.Getpid(), me, "elsewhere", -time.Hour, held},
		"an owner from before the last boot is judged by its heartbeat":   {1, "1", "before", time.Hour, silent},
		"without process start times, a recent heartbeat means alive":     {os.Getpid(), "", "", 0, held},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				owner, s := open(t, directory, func(o *store.Options) { o.Heartbeat = time.Hour }), open(t, directory)
				create(t, owner, "a")
				change(t, directory, "UPDATE owner SET pid = ?, start = ?, host = iif(? = '', host, ?), beat = ?",
					c.pid, c.start, c.host, c.host, time.Now().Add(-c.late).UnixMilli())
				began := time.Now()
				_, err := s.Acquire(t.Context(), "a")
				if c.want == held {
					var inUse *store.InUseError
					require.ErrorAs(t, err, &inUse)
					require.Equal(t, c.pid, inUse.PID)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, c.want == silent, time.Since(began) >= 10*time.Second)
			})
		})
	}
}

// After a sleep of the machine, or a step of its clock, the last heartbeat of every process is old.
func TestOwnerLivesThoughItsLastHeartbeatIsOld(t *testing.T) {
	directory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		owner, s := open(t, directory, func(o *store.Options) { o.Heartbeat = 3 * time.Second }), open(t, directory)
		l := create(t, owner, "a")
		fill(t, owner, l, 1, 3)
		change(t, directory, "UPDATE owner SET host = 'elsewhere', beat = ?", time.Now().Add(-time.Hour).UnixMilli())
		ids, err := s.Orphans(t.Context())
		require.NoError(t, err)
		require.Empty(t, ids)
		var held *store.InUseError
		_, err = s.Acquire(t.Context(), "a")
		require.ErrorAs(t, err, &held, "its next heartbeat comes")
		time.Sleep(time.Minute) // nobody looks
		change(t, directory, "UPDATE owner SET beat = ?", time.Now().Add(-time.Hour).UnixMilli())
		_, err = s.Acquire(t.Context(), "a")
		require.ErrorAs(t, err, &held)
		fill(t, owner, l, 4, 5)
	})
}

func TestFrozenFutureHeartbeatMeansDeadOwner(t *testing.T) {
	directory := t.TempDir()
	owner := open(t, directory, func(o *store.Options) { o.Heartbeat = time.Hour })
	create(t, owner, "a")
	change(t, directory, "UPDATE owner SET host = 'elsewhere', beat = ?", time.Now().Add(time.Hour).UnixMilli())
	s := open(t, directory, func(o *store.Options) { o.Heartbeat = 20 * time.Millisecond })
	require.Eventually(t, func() bool {
		_, err := s.Acquire(t.Context(), "a")
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

// killOwners makes the owners of a file look dead.
func killOwners(t *testing.T, directory string) {
	t.Helper()
	change(t, directory, "UPDATE owner SET start = '1'")
}

func TestLostLeaseIsNoticedBeforeTheNextWrite(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, directory string){
		"acquired by another": func(t *testing.T, directory string) {
			t.Helper()
			s := open(t, directory)
			killOwners(t, directory)
			l, err := s.Acquire(t.Context(), "a")
			require.NoError(t, err)
			fill(t, s, l, 4, 5)
		},
		"deleted": func(t *testing.T, directory string) {
			t.Helper()
			s := open(t, directory)
			killOwners(t, directory)
			require.NoError(t, s.Delete(t.Context(), "a"))
		},
	} {
		for _, how := range []string{"by writing", "by the heartbeat"} {
			t.Run(name+", noticed "+how, func(t *testing.T) {
				directory := t.TempDir()
				beat := time.Hour
				if how == "by the heartbeat" {
					beat = 200 * time.Millisecond
				}
				s := open(t, directory, func(o *store.Options) { o.Heartbeat = beat })
				l, other := create(t, s, "a"), create(t, s, "other")
				fill(t, s, l, 1, 3)
				lose(t, directory)
				before := count(t, directory, "SELECT count(*) FROM segment")
				if how == "by writing" {
					require.NoError(t, l.Append(entry(4)), "the loss is not known yet")
				}
				awaitLost(t, l)
				require.ErrorIs(t, l.Append(entry(5)), store.ErrLost)
				require.Equal(t, before, count(t, directory, "SELECT count(*) FROM segment"))
				if how == "by writing" {
					// The other session of this process continues unless it was acquired as well.
					err := errors.Join(other.Append(entry(1)), s.Flush(t.Context()))
					require.NoError(t, err)
					same(t, all(t, s, "other"), 1, 1)
				}
				require.NoError(t, l.Release(t.Context()))
			})
		}
	}
}
