package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

// open opens a store in a directory and closes it with the test.
func open(tb testing.TB, directory string, change ...func(*store.Options)) *store.Store {
	tb.Helper()
	o := store.Options{Directory: directory, Delay: time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	s, err := store.Open(tb.Context(), o)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// create creates a session and returns its lease.
func create(tb testing.TB, s *store.Store, id string) *store.Lease {
	tb.Helper()
	l, err := s.Create(tb.Context(), store.Session{ID: id})
	require.NoError(tb, err)
	return l
}

// fill appends the entries from first to last and makes them durable.
func fill(tb testing.TB, s *store.Store, l *store.Lease, first, last uint64) {
	tb.Helper()
	for n := first; n <= last; n++ {
		require.NoError(tb, l.Append(entry(n)))
	}
	require.NoError(tb, s.Flush(tb.Context()))
}

// awaitLost waits until a lease is lost.
func awaitLost(t *testing.T, l *store.Lease) {
	t.Helper()
	require.Eventually(t, func() bool { return errors.Is(l.Merge(), store.ErrLost) }, time.Minute, time.Millisecond)
}

// entry returns the entry that every test stores under a number.
func entry(n uint64) store.Entry {
	return store.Entry{Number: n, Data: fmt.Appendf(nil, `{"n":%d,"text":"some words"}`, n)}
}

// all reads a whole record in pages.
func all(tb testing.TB, s *store.Store, id string) []store.Entry {
	tb.Helper()
	var entries []store.Entry
	for after := uint64(0); ; {
		page, err := s.Read(tb.Context(), id, after, 100)
		require.NoError(tb, err)
		if len(page) == 0 {
			return entries
		}
		entries = append(entries, page...)
		after = page[len(page)-1].Number
	}
}

// same checks that a record has exactly the entries from first to last.
func same(tb testing.TB, entries []store.Entry, first, last uint64) {
	tb.Helper()
	require.Len(tb, entries, int(last+1-first))
	for i, e := range entries {
		want := entry(first + uint64(i))
		if e.Number != want.Number || !bytes.Equal(e.Data, want.Data) || len(e.Payload) > 0 {
			require.Equal(tb, want, e)
		}
	}
}

// file names the database in a directory.
func file(directory string) string { return filepath.Join(directory, "sessions.db") }

// change changes a database from outside.
func change(tb testing.TB, directory, query string, args ...any) {
	tb.Helper()
	db, err := sql.Open("sqlite", file(directory)+"?_pragma=busy_timeout(5000)")
	require.NoError(tb, err)
	defer db.Close()
	_, err = db.ExecContext(tb.Context(), query, args...)
	require.NoError(tb, err)
}

// count returns the number that a query yields.
func count(tb testing.TB, directory, query string, args ...any) (n int) {
	tb.Helper()
	db, err := sql.Open("sqlite", file(directory)+"?_pragma=busy_timeout(5000)")
	require.NoError(tb, err)
	defer db.Close()
	require.NoError(tb, db.QueryRowContext(tb.Context(), query, args...).Scan(&n))
	return n
}
