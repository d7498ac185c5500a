package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/server/portaltest"
)

func TestStoredEntriesAreReadBack(t *testing.T) {
	large := bytes.Repeat([]byte("large "), 10_000)
	cases := map[string][]store.Entry{
		"nothing":                  nil,
		"one entry":                {{Number: 1, Data: []byte("a")}},
		"an entry without bytes":   {{Number: 1}},
		"holes in the numbers":     {{Number: 3, Data: []byte("a")}, {Number: 900, Data: []byte("b")}},
		"the largest number":       {{Number: 1<<63 - 1, Data: []byte("a")}},
		"zero bytes":               {{Number: 1, Data: []byte{0, 0}, Payload: []byte{0}}},
		"a small payload":          {{Number: 1, Data: []byte("a"), Payload: []byte("b")}},
		"large bytes":              {{Number: 1, Data: large}, {Number: 2, Data: []byte("b")}},
		"a large payload, twice":   {{Number: 1, Data: []byte("a"), Payload: large}, {Number: 2, Data: []byte("b"), Payload: large}},
		"a payload without a data": {{Number: 1, Payload: large}},
	}
	for name, entries := range cases {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			s := open(t, directory)
			l := create(t, s, "a")
			for _, e := range entries {
				require.NoError(t, l.Append(e))
			}
			require.NoError(t, s.Close())
			s = open(t, directory)
			require.Equal(t, entries, all(t, s, "a"))
			require.LessOrEqual(t, count(t, directory, "SELECT count(*) FROM payload"), 1)
		})
	}
}

func TestAppend(t *testing.T) {
	s := open(t, t.TempDir())
	l := create(t, s, "a")
	require.NoError(t, l.Append(entry(5)))
	for name, c := range map[string]struct {
		entry store.Entry
		want  error
	}{
		"of the same number is refused":    {entry(5), store.ErrOrder},
		"of a smaller number is refused":   {entry(4), store.ErrOrder},
		"of too large a number is refused": {entry(1 << 63), store.ErrOrder},
		"of too many bytes is refused":     {store.Entry{Number: 9, Data: make([]byte, store.MaxEntry)}, store.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, l.Append(c.entry), c.want) })
	}
	require.NoError(t, s.Flush(t.Context()))
	require.EqualValues(t, 5, l.Stored())
	require.NoError(t, l.Release(t.Context()))
	require.NoError(t, l.Release(t.Context()), "a second Release changes nothing")
	require.ErrorIs(t, l.Append(entry(6)), store.ErrReleased)
	require.NoError(t, s.Close())
	_, err := s.Acquire(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrClosed)
}

func TestBackloggedStoreReportsAndLosesNothing(t *testing.T) {
	s := open(t, t.TempDir(), func(o *store.Options) { o.Memory = 4096 })
	l := create(t, s, "a")
	refused := 0
	for n := uint64(1); n <= 1000; n++ {
		for {
			err := l.Append(entry(n))
			if err == nil {
				break
			}
			require.ErrorIs(t, err, store.ErrBacklog)
			refused++
			require.NoError(t, s.Flush(t.Context()))
		}
	}
	require.NoError(t, s.Flush(t.Context()))
	require.Positive(t, refused)
	same(t, all(t, s, "a"), 1, 1000)
	require.NoError(t, l.Append(store.Entry{Number: 1001, Data: make([]byte, 10_000)}), "an entry larger than the limit is accepted alone")
}

func TestSessionHeadIsStored(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	head := store.Session{ID: "a", Origin: "rest", Title: "first", Model: "m", Directory: "/project", Meta: []byte("x")}
	l, err := s.Create(t.Context(), head)
	require.NoError(t, err)
	_, err = s.Create(t.Context(), head)
	require.ErrorIs(t, err, store.ErrExists)
	head.Title, head.Closed, head.Meta = "second", true, []byte("y")
	require.NoError(t, l.Update(store.Session{Title: "never written"}))
	require.NoError(t, l.Update(head))
	require.NoError(t, l.Position("page", 7))
	require.NoError(t, l.Position("other", 8))
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, l.Position("other", 0))
	held, err := s.Session(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), held.Owner)
	require.NoError(t, s.Close())

	s = open(t, directory)
	got, err := s.Session(t.Context(), "a")
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), got.Created, time.Minute)
	require.WithinDuration(t, time.Now(), got.Changed, time.Minute)
	head.Created, head.Changed, head.Epoch = got.Created, got.Changed, 1
	require.Equal(t, head, got)
	positions, err := s.Positions(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, map[string]uint64{"page": 7}, positions)
	_, err = s.Session(t.Context(), "b")
	require.ErrorIs(t, err, store.ErrNotFound)
	l, err = s.Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 2, l.Epoch())
}

func TestListIsReadInPages(t *testing.T) {
	s := open(t, t.TempDir())
	for i := range 10 {
		require.NoError(t, create(t, s, fmt.Sprint("s", i)).Release(t.Context()))
	}
	var ids []string
	for after := (store.Cursor{}); ; {
		page, err := s.List(t.Context(), after, 3)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for i, h := range page {
			ids = append(ids, h.ID)
			after = page[i].Cursor()
		}
	}
	require.Len(t, ids, 10)
	require.ElementsMatch(t, []string{"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"}, ids)
}

func TestListOmitsOrigins(t *testing.T) {
	s := open(t, t.TempDir())
	for _, origin := range []string{"rest", "job", "ui"} {
		l, err := s.Create(t.Context(), store.Session{ID: "of " + origin, Origin: origin})
		require.NoError(t, err)
		require.NoError(t, l.Release(t.Context()))
	}
	for _, tc := range []struct {
		without []string
		want    []string
	}{
		{nil, []string{"of rest", "of job", "of ui"}},
		{[]string{"job"}, []string{"of rest", "of ui"}},
		{[]string{"job", "ui"}, []string{"of rest"}},
	} {
		page, err := s.List(t.Context(), store.Cursor{}, 10, tc.without...)
		require.NoError(t, err)
		var ids []string
		for _, h := range page {
			ids = append(ids, h.ID)
		}
		require.ElementsMatch(t, tc.want, ids)
	}
}

func TestDirectoryIsPrivate(t *testing.T) {
	directory := t.TempDir() + "/deep/data ?#%41"
	s := open(t, directory)
	fill(t, s, create(t, s, "a"), 1, 1)
	for name, want := range map[string]os.FileMode{"": 0o700, "/sessions.db": 0o600, "/sessions.db-wal": 0o600, "/sessions.db-shm": 0o600} {
		info, err := os.Stat(directory + name)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), name)
	}
}

func TestSmallSegmentsAreMerged(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	l := create(t, s, "a")
	for n := uint64(1); n <= 300; n++ {
		require.NoError(t, l.Append(entry(n)))
		require.NoError(t, s.Flush(t.Context()))
	}
	require.Equal(t, 300, count(t, directory, "SELECT count(*) FROM segment"))
	const size = "SELECT sum(length(data)) FROM segment"
	before := count(t, directory, size)
	require.NoError(t, l.Merge())
	require.Eventually(t, func() bool { return count(t, directory, "SELECT count(*) FROM segment") == 1 }, time.Minute, 10*time.Millisecond)
	fill(t, s, l, 301, 400)
	same(t, all(t, s, "a"), 1, 400)
	require.Less(t, count(t, directory, size), before)
}

func TestMergedSegmentsStayReadable(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	l := create(t, s, "a")
	for n := uint64(1); n <= 2000; n++ {
		require.NoError(t, l.Append(store.Entry{Number: n, Data: bytes.Repeat([]byte("x"), 2000)}))
		if n%20 == 0 {
			require.NoError(t, s.Flush(t.Context()))
		}
		if n%500 == 0 {
			require.NoError(t, l.Merge())
		}
	}
	require.Eventually(t, func() bool {
		return count(t, directory, "SELECT count(*) FROM segment") < 24
	}, time.Minute, 10*time.Millisecond)
	require.Less(t, count(t, directory, "SELECT max(size) FROM segment"), 512<<10)
	require.Len(t, all(t, s, "a"), 2000)
}

func TestEntriesAreStoredAfterTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 20 * time.Millisecond
		s := open(t, t.TempDir(), func(o *store.Options) { o.Delay = delay })
		l := create(t, s, "a")
		for n := uint64(1); n <= 10; n++ {
			require.NoError(t, l.Append(entry(n)))
			time.Sleep(delay)
			synctest.Wait()
			require.Equal(t, n, l.Stored())
		}
	})
}

func TestEntriesDuringReleaseAreWritten(t *testing.T) {
	for name, end := range map[string]func(s *store.Store, l *store.Lease) error{
		"by Release": func(_ *store.Store, l *store.Lease) error { return l.Release(context.Background()) },
		"by Close":   func(s *store.Store, _ *store.Lease) error { return s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			for round := range portaltest.Repeat(4, 10) {
				s := open(t, directory)
				id := fmt.Sprint("s", round)
				l := create(t, s, id)
				begun, handed := make(chan struct{}), make(chan uint64)
				go func() {
					n := uint64(1)
					for ; l.Append(entry(n)) == nil; n++ {
						if n == 10 {
							close(begun)
						}
					}
					handed <- n - 1
				}()
				<-begun
				require.NoError(t, end(s, l))
				last := <-handed
				require.NoError(t, s.Close())
				same(t, all(t, open(t, directory), id), 1, last)
			}
		})
	}
}
