package activity_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
)

// head and string entries are of a kind that only tests have.
type head struct {
	ID             string
	Created, Ended time.Time
	Count          uint64
	How            string
}

var errNotFound = errors.New("no such thing")

func kind() activity.Kind[head, string] {
	return activity.Kind[head, string]{
		Name: "thing", Entry: "word", Lead: 1,
		ID: func(h *head) *string { return &h.ID }, Created: func(h head) time.Time { return h.Created },
		Ended: func(h head) time.Time { return h.Ended }, Count: func(h head) uint64 { return h.Count },
		Number: func(h head, e string, _ time.Time) string { return fmt.Sprint(h.Count+1, " ", e) },
		Apply:  func(h head, _ string) head { h.Count++; return h },
		Encode: func(e string) ([]byte, error) { return []byte(e), nil },
		Decode: func(_ uint64, line []byte) (string, error) {
			if string(line) == "broken" {
				return "", errors.New("it is broken")
			}
			return string(line), nil
		},
		Unreadable: func(id string, created time.Time, count uint64) head {
			return head{ID: id, Created: created, Count: count, How: "unreadable"}
		},
		Abandon: func(context.Context, head) (activity.End[head, string], error) {
			return activity.End[head, string]{Entries: []string{"abandoned"}, Change: end}, nil
		},
		Abandoned: func(context.Context, head) {},
		NotFound:  errNotFound,
	}
}

func end(h *head) { h.Ended, h.How = time.Now().UTC().Truncate(time.Millisecond), h.How+"ended" }

type (
	log    = activity.Log[head, string]
	record = activity.Record[head, string]
)

// directory is the directory of a test's stores, or "" for memory.
type directory string

func (d directory) open(t *testing.T, o activity.Options) (*log, *store.Store) {
	t.Helper()
	if d != "" {
		var err error
		o.Store, err = store.Open(context.Background(), store.Options{Directory: string(d)})
		require.NoError(t, err)
	}
	return activity.New(kind(), o), o.Store
}

func begin(t *testing.T, l *log, id string) *record {
	t.Helper()
	r, err := l.Begin(head{ID: id, Created: time.Now().UTC().Truncate(time.Millisecond)}, []byte("lead"))
	require.NoError(t, err)
	l.Add(r)
	return r
}

func get(t *testing.T, l *log, id string) *record {
	t.Helper()
	r, err := l.Get(context.Background(), id)
	require.NoError(t, err)
	return r
}

func read(t *testing.T, r *record) (list []string) {
	t.Helper()
	for {
		some, err := r.Next(context.Background(), uint64(len(list)), 2)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			return list
		}
		list = append(list, some...)
	}
}

// environment is where a test runs: in memory or with a store.
type environment struct {
	*testing.T
	directory
}

func (w environment) open(o activity.Options) (*log, *store.Store) {
	w.Helper()
	return w.directory.open(w.T, o)
}

// withAndWithoutStore runs a test in virtual time, in memory and with a store.
func withAndWithoutStore(t *testing.T, test func(environment)) {
	t.Helper()
	for name, d := range map[string]directory{"in memory": "", "stored": directory(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(environment{t, d}) })
		})
	}
}

// stored runs a test in virtual time with stores.
func stored(t *testing.T, test func(environment)) {
	t.Helper()
	d := directory(t.TempDir())
	synctest.Test(t, func(t *testing.T) { test(environment{t, d}) })
}

func TestReadersGetAllEntriesInOrderAndTheirEnd(t *testing.T) {
	withAndWithoutStore(t, func(t environment) {
		l, s := t.open(activity.Options{Retention: time.Hour})
		r := begin(t.T, l, "a")
		lists := make([][]string, 3)
		var readers, writers sync.WaitGroup
		for i := range lists {
			readers.Go(func() { lists[i] = read(t.T, get(t.T, l, "a")) })
		}
		for range 10 {
			writers.Go(func() { assert.NoError(t, r.Write(nil, "word", "word")) })
		}
		writers.Wait()
		require.NoError(t, r.Write(end, "last"))
		readers.Wait()
		for _, list := range lists {
			require.Len(t, list, 21)
			assert.Equal(t, "1 word", list[0])
			assert.Equal(t, "21 last", list[20])
		}
		r.Release()
		assert.False(t, l.Owns("a"), "ended activities leave memory")
		again := get(t.T, l, "a")
		assert.Equal(t, lists[0], read(t.T, again))
		assert.Equal(t, r.Head(), again.Head())
		lead, err := l.Lines(t.Context(), "a", 0, 1)
		require.NoError(t, err)
		assert.Equal(t, [][]byte{[]byte("lead")}, lead)
		l.Close(context.Background())
		closeStore(t.T, s)
	})
}

func closeStore(t *testing.T, s *store.Store) {
	t.Helper()
	if s != nil {
		require.NoError(t, s.Close())
	}
}

func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	withAndWithoutStore(t, func(t environment) {
		l, s := t.open(activity.Options{Retention: time.Hour})
		r := begin(t.T, l, "a")
		require.NoError(t, r.Write(end, "last"))
		require.ErrorIs(t, r.Write(nil, "more"), activity.ErrEnded)
		require.ErrorIs(t, r.Cancel(t.Context()), activity.ErrEnded)
		assert.Equal(t, []string{"1 last"}, read(t.T, r))
		l.Close(context.Background())
		closeStore(t.T, s)
	})
}

func TestActivitiesAreRemovedAfterRetention(t *testing.T) {
	withAndWithoutStore(t, func(t environment) {
		l, s := t.open(activity.Options{Retention: time.Hour})
		require.NoError(t, begin(t.T, l, "ended").Write(end, "last"))
		time.Sleep(time.Second)
		begin(t.T, l, "runs")
		time.Sleep(time.Hour - 2*time.Second)
		heads, err := l.Heads(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, heads, 2)
		assert.Equal(t, "runs", heads[0].ID, "newest first")
		time.Sleep(1500 * time.Millisecond)
		_, err = l.Get(t.Context(), "ended")
		require.ErrorIs(t, err, errNotFound, "immediately, though it is deleted later")
		time.Sleep(3 * time.Minute)
		heads, err = l.Heads(t.Context(), 10)
		require.NoError(t, err)
		assert.Len(t, heads, 1)
		lines, err := l.Lines(t.Context(), "ended", 0, 0)
		require.NoError(t, err)
		assert.Empty(t, lines)
		l.Close(context.Background())
		closeStore(t.T, s)
	})
}

func TestWorkEndsWithLogAndNoneStartsLater(t *testing.T) {
	withAndWithoutStore(t, func(t environment) {
		l, s := t.open(activity.Options{Retention: time.Hour})
		causes := map[string]error{}
		for _, id := range []string{"canceled", "stopped"} {
			leave, ok := l.Enter()
			require.True(t, ok)
			r, err := l.Begin(head{ID: id})
			require.NoError(t, err)
			l.Go(t.Context(), r, func(ctx context.Context) {
				<-ctx.Done()
				causes[id] = context.Cause(ctx)
			})
			leave()
		}
		require.NoError(t, get(t.T, l, "canceled").Cancel(t.Context()))
		require.Len(t, causes, 1, "Cancel waits for the end")
		l.Close(context.Background())
		assert.Equal(t, map[string]error{"canceled": activity.ErrCanceled, "stopped": activity.ErrStopping}, causes)
		_, ok := l.Enter()
		assert.False(t, ok)
		closeStore(t.T, s)
	})
}

func TestOtherProcessesFollowAndFinalizeAbandonedActivity(t *testing.T) {
	stored(t, func(t environment) {
		first, firstStore := t.open(activity.Options{Retention: time.Hour})
		second, secondStore := t.open(activity.Options{Retention: time.Hour})
		r := begin(t.T, first, "a")
		there := get(t.T, second, "a")
		require.NoError(t, r.Write(nil, "one"))
		assert.EqualValues(t, 1, there.Head().Count, "entries after the stored head count")
		assert.Equal(t, fault.Busy, fault.KindOf(there.Cancel(t.Context())))
		assert.False(t, second.Owns("a"))
		for l, want := range map[*log]bool{first: false, second: true} {
			runs, err := l.RunsElsewhere(t.Context(), func(h head) bool { return h.ID == "a" })
			require.NoError(t, err)
			assert.Equal(t, want, runs)
		}

		require.NoError(t, firstStore.Kill())
		runs, err := second.RunsElsewhere(t.Context(), func(head) bool { return true })
		require.NoError(t, err)
		assert.False(t, runs, "its process is gone")
		began := time.Now()
		assert.Equal(t, []string{"1 one", "2 abandoned"}, read(t.T, there), "a waiting reader finalizes it")
		assert.Less(t, time.Since(began), 2*time.Second)
		assert.Equal(t, "ended", there.Head().How)
		require.ErrorIs(t, there.Cancel(t.Context()), activity.ErrEnded)
		require.NoError(t, second.Recover(t.Context()), "a second Recover changes nothing")
		assert.Equal(t, []string{"1 one", "2 abandoned"}, read(t.T, there))
		first.Close(context.Background())
		second.Close(context.Background())
		closeStore(t.T, secondStore)
	})
}

func TestAbandonedActivityWhoseHeadCannotBeReadEnds(t *testing.T) {
	stored(t, func(t environment) {
		_, firstStore := t.open(activity.Options{})
		a := store.Activity{Kind: "thing", ID: "a", Head: []byte("{")}
		require.NoError(t, firstStore.Begin(t.Context(), a))
		_, err := firstStore.AppendActivity(t.Context(), a, []byte("lead"), []byte("broken"))
		require.NoError(t, err)
		require.NoError(t, firstStore.Kill())

		l, s := t.open(activity.Options{Retention: time.Hour})
		_, err = l.Get(t.Context(), "a")
		assert.Equal(t, fault.Internal, fault.KindOf(err))
		require.NoError(t, l.Recover(t.Context()))
		r := get(t.T, l, "a")
		assert.Equal(t, "unreadableended", r.Head().How)
		assert.EqualValues(t, 2, r.Head().Count)
		_, err = r.Next(t.Context(), 0, 0)
		assert.Equal(t, fault.Internal, fault.KindOf(err))
		l.Close(context.Background())
		closeStore(t.T, s)
	})
}

func TestReplaceAdoptsOrphanedActivity(t *testing.T) {
	stored(t, func(t environment) {
		first, firstStore := t.open(activity.Options{})
		h := head{ID: "a"}
		_, err := first.Begin(h, []byte("lead"))
		require.NoError(t, err)
		second, secondStore := t.open(activity.Options{})
		h.Count = 1
		assert.Equal(t, fault.Busy, fault.KindOf(second.Replace(t.Context(), h, "word")), "its owner is alive")
		require.NoError(t, firstStore.Close())
		require.NoError(t, second.Replace(t.Context(), h, "word"))
		words, err := second.Entries(t.Context(), "a", 0, 1)
		require.NoError(t, err)
		assert.Equal(t, []string{"word"}, words)
		require.NoError(t, second.Delete(t.Context(), h))
		_, err = second.Head(t.Context(), "a")
		require.ErrorIs(t, err, errNotFound)
		deleted := store.Activity{Kind: "thing", ID: "b", Head: []byte("{}"), Done: true} // but not yet removed
		require.NoError(t, secondStore.Begin(t.Context(), deleted))
		heads, err := second.Heads(t.Context(), 10)
		require.NoError(t, err)
		assert.Empty(t, heads)
		_, err = second.Head(t.Context(), "b")
		require.ErrorIs(t, err, errNotFound)
		closeStore(t.T, secondStore)
	})
}

func TestActivityOfAnotherProcessIsReadOnce(t *testing.T) {
	stored(t, func(t environment) {
		first, firstStore := t.open(activity.Options{})
		require.NoError(t, begin(t.T, first, "a").Write(nil, "one"))
		s, err := store.Open(t.Context(), store.Options{Directory: string(t.directory)})
		require.NoError(t, err)
		k, read := kind(), 0
		k.Decode = func(_ uint64, line []byte) (string, error) { read++; return string(line), nil }
		second := activity.New(k, activity.Options{Store: s})
		get(t.T, second, "a")
		assert.Equal(t, 1, read)
		first.Close(context.Background())
		second.Close(context.Background())
		closeStore(t.T, firstStore)
		closeStore(t.T, s)
	})
}
