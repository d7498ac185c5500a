package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

// open opens a store in a directory and closes it with the test.
func open(t testing.TB, directory string, change ...func(*store.Options)) *store.Store {
	t.Helper()
	o := store.Options{Directory: directory, Delay: time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	s, err := store.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// create makes a session and takes it.
func create(t testing.TB, s *store.Store, id string) *store.Lease {
	t.Helper()
	l, err := s.Create(t.Context(), store.Session{ID: id})
	require.NoError(t, err)
	return l
}

// fill appends entries from one number to another and makes them durable.
func fill(t testing.TB, s *store.Store, l *store.Lease, first, last uint64) {
	t.Helper()
	for n := first; n <= last; n++ {
		require.NoError(t, l.Append(entry(n)))
	}
	require.NoError(t, s.Flush(t.Context()))
}

// entry is the one that every test stores under a number.
func entry(n uint64) store.Entry {
	return store.Entry{Number: n, Data: fmt.Appendf(nil, `{"n":%d,"text":"some words"}`, n)}
}

// all reads a whole record, in steps.
func all(t testing.TB, s *store.Store, id string) []store.Entry {
	t.Helper()
	var entries []store.Entry
	for after := uint64(0); ; {
		page, err := s.Read(t.Context(), id, after, 100)
		require.NoError(t, err)
		if len(page) == 0 {
			return entries
		}
		entries = append(entries, page...)
		after = page[len(page)-1].Number
	}
}

// same checks that a record has the entries from one number to another, each as it was handed over.
func same(t testing.TB, entries []store.Entry, first, last uint64) {
	t.Helper()
	require.Len(t, entries, int(last+1-first))
	for i, e := range entries {
		want := entry(first + uint64(i))
		if e.Number != want.Number || !bytes.Equal(e.Data, want.Data) || len(e.Payload) > 0 {
			require.Equal(t, want, e)
		}
	}
}

// file names the database in a directory.
func file(directory string) string { return filepath.Join(directory, "sessions.db") }

// exec changes a database from outside.
func exec(t testing.TB, directory, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", file(directory)+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err)
}

// count asks a database something that a number answers.
func count(t testing.TB, directory, query string, args ...any) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", file(directory)+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}
