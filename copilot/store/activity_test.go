package store_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

// begin stores a new activity of a kind used only by tests.
func begin(tb testing.TB, s *store.Store, id string) store.Activity {
	tb.Helper()
	a := store.Activity{Kind: "test", ID: id, Head: []byte("begun")}
	require.NoError(tb, s.Begin(tb.Context(), a))
	return a
}

// lines returns lines of an activity as text.
func lines(tb testing.TB, s *store.Store, id string, after uint64, limit int) (all []string) {
	tb.Helper()
	found, err := s.Lines(tb.Context(), "test", id, after, limit)
	require.NoError(tb, err)
	for _, line := range found {
		all = append(all, string(line))
	}
	return all
}

func TestActivityLinesAreReadBack(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	created := time.UnixMilli(1_000_000)
	require.NoError(t, s.Begin(t.Context(), store.Activity{Kind: "test", ID: "a", Head: []byte("first"), Created: created}, []byte("one")))
	require.ErrorIs(t, s.Begin(t.Context(), store.Activity{Kind: "test", ID: "a"}, []byte("other")), store.ErrExists)
	require.NoError(t, s.Begin(t.Context(), store.Activity{Kind: "other", ID: "a"}), "ids are unique within a kind")
	a := store.Activity{Kind: "test", ID: "a"}
	last, err := s.AppendActivity(t.Context(), a, nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, last)
	a.Head = []byte{}
	last, err = s.AppendActivity(t.Context(), a, []byte("three"))
	require.NoError(t, err)
	require.EqualValues(t, 3, last)
	a.Head = nil
	last, err = s.AppendActivity(t.Context(), a)
	require.NoError(t, err, "an activity needs no lines")
	require.EqualValues(t, 3, last)

	found, err := s.Activity(t.Context(), "test", "a")
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), found.Changed, time.Minute)
	found.Changed = created
	assert.Equal(t, store.Activity{
		Kind: "test", ID: "a", Created: created, Changed: created, Last: 3, Owner: os.Getpid(), OwnerName: s.Name(),
	}, found)
	assert.Equal(t, []string{"one", "", "three"}, lines(t, s, "a", 0, 0))
	assert.Equal(t, []string{""}, lines(t, s, "a", 1, 1))
	assert.Empty(t, lines(t, s, "a", 3, 0))
	assert.Empty(t, lines(t, s, "a", 1<<64-1, 0))
	assert.Empty(t, lines(t, s, "nobody", 0, 0))
	_, err = s.Activity(t.Context(), "test", "nobody")
	assert.ErrorIs(t, err, store.ErrNotFound)
}

func TestActivityBeginsWithAllOfItsLinesOrNotAtAll(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	change(t, directory, "CREATE TRIGGER refuse BEFORE INSERT ON line WHEN new.number = 2 BEGIN SELECT RAISE(ABORT, 'refused'); END")
	a := store.Activity{Kind: "test", ID: "a"}
	require.ErrorContains(t, s.Begin(t.Context(), a, []byte("one"), []byte("two")), "refused")
	_, err := s.Activity(t.Context(), "test", "a")
	require.ErrorIs(t, err, store.ErrNotFound)
	change(t, directory, "DROP TRIGGER refuse")
	require.NoError(t, s.Begin(t.Context(), a, []byte("one"), []byte("two")))
	assert.Equal(t, []string{"one", "two"}, lines(t, s, "a", 0, 0))
}

func TestDoneActivityTakesNoLines(t *testing.T) {
	s := open(t, t.TempDir())
	a := begin(t, s, "a")
	a.Head, a.Done = nil, true
	_, err := s.AppendActivity(t.Context(), a, []byte("last"))
	require.NoError(t, err)
	_, err = s.AppendActivity(t.Context(), a, []byte("later"))
	require.ErrorIs(t, err, store.ErrLost)
	_, err = s.AppendActivity(t.Context(), store.Activity{Kind: "test", ID: "nobody"}, []byte("x"))
	require.ErrorIs(t, err, store.ErrLost)
	found, err := s.Activity(t.Context(), "test", "a")
	require.NoError(t, err)
	assert.True(t, found.Done)
	assert.Zero(t, found.Owner)
	assert.Equal(t, []byte("begun"), found.Head, "nil keeps the head")
	assert.Equal(t, []string{"last"}, lines(t, s, "a", 0, 0))
}

func TestActivitiesAreListedNewestFirst(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	for i, second := range []int64{5, 9, 5, 7} {
		require.NoError(t, s.Begin(t.Context(), store.Activity{Kind: "test", ID: fmt.Sprint(i), Created: time.Unix(second, 0)}))
	}
	all, err := s.Activities(t.Context(), "test", 3)
	require.NoError(t, err)
	var ids []string
	for _, a := range all {
		ids = append(ids, a.ID)
	}
	assert.Equal(t, []string{"1", "3", "2"}, ids)
	assert.Contains(t, plan(t, directory, "SELECT id FROM activity WHERE kind = 'test' ORDER BY created DESC, key DESC LIMIT 3"),
		"USING INDEX activity_created")
}

// A process that looks once adopts what a silent owner left, and does not wait for a living one.
func TestSilentOwnersOfActivitiesAreAwaited(t *testing.T) {
	directory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		rare := func(o *store.Options) { o.Heartbeat = time.Hour }
		begin(t, open(t, directory, rare), "silent")
		silent := func() { // with a heartbeat of another machine, long ago
			change(t, directory, "UPDATE owner SET host = 'elsewhere', beat = ?", time.Now().Add(-time.Hour).UnixMilli())
		}
		silent()
		s := open(t, directory)
		began := time.Now()
		require.NoError(t, s.AwaitOwners(t.Context(), "other"))
		require.Zero(t, time.Since(began), "it has no activities")
		require.NoError(t, s.AwaitOwners(t.Context(), "test"))
		require.Equal(t, 10*time.Second, time.Since(began))
		adopted, err := s.Adopt(t.Context(), "test")
		require.NoError(t, err)
		require.Len(t, adopted, 1)

		begin(t, open(t, directory, func(o *store.Options) { o.Heartbeat = 3 * time.Second }), "living")
		silent()
		s = open(t, directory)
		began = time.Now()
		require.NoError(t, s.AwaitOwners(t.Context(), "test"))
		require.LessOrEqual(t, time.Since(began), 4*time.Second, "its next heartbeat proves that it lives")
		begin(t, s, "own")
		began = time.Now()
		require.NoError(t, s.AwaitOwners(t.Context(), "test"))
		require.Zero(t, time.Since(began))
	})
}

func TestActivitiesOfDeadOwnersAreAdopted(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	begin(t, s, "own")
	given := open(t, directory)
	begin(t, given, "released")
	require.NoError(t, given.Close())
	living := open(t, directory)
	begin(t, living, "living")
	killed := open(t, directory)
	lost := begin(t, killed, "killed")
	over := begin(t, killed, "over")
	over.Done = true
	_, err := killed.AppendActivity(t.Context(), lost, []byte("one"))
	require.NoError(t, err)
	_, err = killed.AppendActivity(t.Context(), over)
	require.NoError(t, err)
	require.NoError(t, killed.Kill())

	adopted, err := s.Adopt(t.Context(), "test")
	require.NoError(t, err)
	require.Len(t, adopted, 2)
	assert.Equal(t, []string{"released", "killed"}, []string{adopted[0].ID, adopted[1].ID})
	assert.EqualValues(t, 1, adopted[1].Last)
	last, err := s.AppendActivity(t.Context(), lost, []byte("two"))
	require.NoError(t, err)
	assert.EqualValues(t, 2, last)
	adopted, err = s.Adopt(t.Context(), "test")
	require.NoError(t, err)
	assert.Empty(t, adopted, "an adopted activity is not adopted again")
}

func TestAdoptedActivityIsLostToItsOwner(t *testing.T) {
	directory := t.TempDir()
	first := open(t, directory)
	a := begin(t, first, "a")
	change(t, directory, "UPDATE owner SET start = '1'")
	second := open(t, directory)
	adopted, err := second.Adopt(t.Context(), "test")
	require.NoError(t, err)
	require.Len(t, adopted, 1)
	_, err = first.AppendActivity(t.Context(), a, []byte("x"))
	require.ErrorIs(t, err, store.ErrLost)
	assert.Empty(t, lines(t, second, "a", 0, 0))
}

func TestActivityWriterSendsHeartbeats(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, func(o *store.Options) { o.Heartbeat = 10 * time.Millisecond })
	begin(t, s, "a")
	change(t, directory, "UPDATE owner SET beat = 0")
	require.Eventually(t, func() bool { return count(t, directory, "SELECT count(*) FROM owner WHERE beat > 0") == 1 },
		time.Minute, 5*time.Millisecond)
	other := open(t, directory)
	require.NoError(t, create(t, other, "session").Release(t.Context()))
	_, err := other.Acquire(t.Context(), "session")
	require.NoError(t, err, "and removes owners that hold nothing")
	require.Equal(t, 2, count(t, directory, "SELECT count(*) FROM owner"))
}

func TestDoneActivitiesAreDeleted(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	for _, id := range []string{"old", "open", "new"} {
		a := begin(t, s, id)
		a.Done = id != "open"
		_, err := s.AppendActivity(t.Context(), a, []byte("one"), []byte("two"))
		require.NoError(t, err)
	}
	change(t, directory, "UPDATE activity SET changed = 1 WHERE id <> 'new'")
	ids, err := s.DeleteDone(t.Context(), "test", time.Now().Add(-time.Minute))
	require.NoError(t, err)
	assert.Equal(t, []string{"old"}, ids)
	assert.Equal(t, 4, count(t, directory, "SELECT count(*) FROM line"))
	_, err = s.Activity(t.Context(), "test", "old")
	assert.ErrorIs(t, err, store.ErrNotFound)
}

func TestConcurrentAppendsKeepTheirLines(t *testing.T) {
	s := open(t, t.TempDir())
	var group sync.WaitGroup
	for i := range 8 {
		a := begin(t, s, fmt.Sprint(i))
		group.Go(func() {
			for n := range 50 {
				last, err := s.AppendActivity(t.Context(), a, fmt.Append(nil, i, n))
				if !assert.NoError(t, err) { //nolint:testifylint // not on the goroutine of the test
					return
				}
				assert.EqualValues(t, n+1, last)
			}
		})
	}
	group.Wait()
	for i := range 8 {
		found := lines(t, s, fmt.Sprint(i), 0, 0)
		require.Len(t, found, 50)
		for n, line := range found {
			assert.Equal(t, fmt.Sprint(i, n), line)
		}
	}
}

func TestVisitorsExpire(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	require.NoError(t, s.Admit(t.Context(), []byte("a"), store.Visitor{User: "somebody", Scopes: "read", Until: until}))
	require.NoError(t, s.Admit(t.Context(), []byte("late"), store.Visitor{User: "somebody", Until: time.Now()}))
	require.NoError(t, s.Admit(t.Context(), []byte("gone"), store.Visitor{Until: until}))
	require.NoError(t, s.Dismiss(t.Context(), []byte("gone")))
	require.NoError(t, s.Dismiss(t.Context(), []byte("nobody")))
	require.NoError(t, s.Close())

	s = open(t, directory)
	found, err := s.Admitted(t.Context(), []byte("a"))
	require.NoError(t, err)
	assert.Equal(t, store.Visitor{User: "somebody", Scopes: "read", Until: until}, found)
	for _, hash := range []string{"late", "gone", "nobody"} {
		_, err := s.Admitted(t.Context(), []byte(hash))
		require.ErrorIs(t, err, store.ErrNotFound, hash)
	}
	require.NoError(t, s.Admit(t.Context(), []byte("b"), store.Visitor{Until: until}))
	assert.Equal(t, 2, count(t, directory, "SELECT count(*) FROM visitor"), "the expired visitor is deleted")
}
