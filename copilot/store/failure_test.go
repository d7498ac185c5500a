package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/flock"
	"github.com/copilot-portal/portal/copilot/store"
)

func TestFailedOpenIsExplained(t *testing.T) {
	cases := map[string]struct {
		prepare func(t *testing.T, directory string)
		want    store.Kind
		text    string
	}{
		"a file stands where the directory should": {func(t *testing.T, directory string) {
			t.Helper()
			require.NoError(t, os.WriteFile(directory, nil, 0o600))
		}, store.ReadOnly, "use another data directory"},
		"a directory stands where the file should": {func(t *testing.T, directory string) {
			t.Helper()
			require.NoError(t, os.MkdirAll(file(directory), 0o700))
		}, store.ReadOnly, "cannot be written"},
		"a newer version has written the file": {func(t *testing.T, directory string) {
			t.Helper()
			require.NoError(t, open(t, directory).Close())
			change(t, directory, "PRAGMA user_version = 1000")
		}, store.Newer, "newer version"},
		"the file is another program's": {func(t *testing.T, directory string) {
			t.Helper()
			require.NoError(t, os.MkdirAll(directory, 0o700))
			change(t, directory, "CREATE TABLE something (a)")
		}, store.Foreign, "another program"},
		"another process holds the lock": {func(t *testing.T, directory string) {
			t.Helper()
			require.NoError(t, os.MkdirAll(directory, 0o700))
			hold(t, directory)
		}, store.Locked, "close that program"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "data")
			c.prepare(t, directory)
			_, err := store.Open(t.Context(), store.Options{Directory: directory, Busy: 50 * time.Millisecond})
			var trouble *store.Failure
			require.ErrorAs(t, err, &trouble)
			require.Equal(t, c.want, trouble.Kind, err)
			require.ErrorContains(t, err, c.text)
			require.ErrorContains(t, err, file(directory))
			require.ErrorContains(t, err, "--data-dir DIR")
		})
	}
	_, err := store.Open(t.Context(), store.Options{})
	require.ErrorContains(t, err, "needs a directory")
}

// hold locks a database from outside until release is called.
func hold(t *testing.T, directory string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", file(directory)+"?_pragma=journal_mode(wal)&_txlock=immediate&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS other (a)")
	require.NoError(t, err)
	release = func() { _, _ = tx.Rollback(), db.Close() }
	t.Cleanup(release)
	return release
}

// until waits for a kind of failure, or with "" until there is none.
func until(t *testing.T, s *store.Store, want store.Kind) {
	t.Helper()
	require.Eventually(t, func() bool {
		trouble := s.Failure()
		return trouble == nil && want == "" || trouble != nil && trouble.Kind == want
	}, time.Minute, 5*time.Millisecond, "%v", s.Failure())
}

func TestLockedFileDelaysWritingAndLosesNothing(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, func(o *store.Options) { o.Busy = 20 * time.Millisecond })
	l := create(t, s, "a")
	release := hold(t, directory)
	for n := uint64(1); n <= 100; n++ {
		require.NoError(t, l.Append(entry(n)))
	}
	until(t, s, store.Locked)
	_, err := s.Create(t.Context(), store.Session{ID: "b"})
	var trouble *store.Failure
	require.ErrorAs(t, err, &trouble)
	require.Zero(t, l.Stored())
	entries, err := s.Read(t.Context(), "a", 0, 0)
	require.NoError(t, err, "reads still work")
	require.Empty(t, entries)
	release()
	until(t, s, "")
	same(t, all(t, s, "a"), 1, 100)
}

func TestFullFileIsWrittenAgainWhenThereIsSpace(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, func(o *store.Options) { o.MaxBytes = 1 << 20 })
	full(t, s, "old", 1<<19)
	l := create(t, s, "a")
	fill(t, s, l, 1, 100)
	require.NoError(t, l.Append(store.Entry{Number: 101, Data: bytes.Repeat([]byte("a"), 1<<19)}))
	until(t, s, store.Full)
	require.ErrorContains(t, s.Flush(t.Context()), "no space left")
	require.ErrorContains(t, l.Release(t.Context()), "no space left")
	for n := uint64(102); n <= 200; n++ {
		require.NoError(t, l.Append(entry(n)), "Append still works")
	}
	require.EqualValues(t, 100, l.Stored())
	require.NoError(t, s.Delete(t.Context(), "old"), "deleting makes room")
	until(t, s, "")
	require.NoError(t, s.Flush(t.Context()))
	require.EqualValues(t, 200, l.Stored())
	entries := all(t, s, "a")
	same(t, entries[:100], 1, 100)
	require.Len(t, entries[100].Data, 1<<19)
	same(t, entries[101:], 102, 200)
}

func TestSessionThatCannotBeStoredKeepsNoOtherFromIt(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, func(o *store.Options) { o.Heartbeat = 10 * time.Millisecond })
	bad, good := create(t, s, "bad"), create(t, s, "good")
	change(t, directory, "CREATE TRIGGER refuse BEFORE UPDATE ON session WHEN old.id = 'bad' BEGIN SELECT raise(abort, 'too big'); END")
	change(t, directory, "UPDATE owner SET beat = 0")
	for n := uint64(1); n <= 10; n++ {
		require.NoError(t, errors.Join(bad.Append(entry(n)), good.Append(entry(n))))
	}
	require.ErrorContains(t, s.Flush(t.Context()), "session bad")
	same(t, all(t, s, "good"), 1, 10)
	require.Eventually(t, s.Failing, time.Minute, time.Millisecond, "the next group of the writer fails, too")
	require.Eventually(t, func() bool { return count(t, directory, "SELECT count(*) FROM owner WHERE beat > 0") == 1 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, good.Release(t.Context()))
	change(t, directory, "DROP TRIGGER refuse")
	until(t, s, "")
	same(t, all(t, s, "bad"), 1, 10)
}

func TestCloseReportsUnstoredEntries(t *testing.T) {
	s := open(t, t.TempDir(), func(o *store.Options) { o.MaxBytes = 1 << 19 })
	l := create(t, s, "a")
	require.NoError(t, l.Append(store.Entry{Number: 1, Data: bytes.Repeat([]byte("a"), 1<<20)}))
	require.ErrorContains(t, s.Close(), "cannot store 1 entries")
	require.ErrorIs(t, l.Append(entry(2)), store.ErrClosed)
}

// damage changes a file that no process has open.
func damage(t *testing.T, directory string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(file(directory))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file(directory), change(data), 0o600))
}

func overwritten(data []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		data[i] = byte(i * 7)
	}
	return data
}

func TestDamagedFileIsMovedAside(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"from its beginning":   func(data []byte) []byte { return overwritten(data, 0, len(data)) },
		"only its first page":  func(data []byte) []byte { return overwritten(data, 0, 4096) },
		"after its first page": func(data []byte) []byte { return overwritten(data, 4096, len(data)) },
		"truncated":            func(data []byte) []byte { return data[:len(data)/2] },
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			s := open(t, directory)
			fill(t, s, create(t, s, "a"), 1, 10)
			require.NoError(t, s.Close())
			damage(t, directory, change)
			s = open(t, directory)
			fill(t, s, create(t, s, "a"), 1, 10)
			require.Equal(t, store.Corrupt, s.Failure().Kind)
			kept, err := filepath.Glob(file(directory) + ".damaged-*")
			require.NoError(t, err)
			require.Len(t, kept, 1)
			require.ErrorContains(t, s.Failure(), kept[0])
		})
	}
}

func TestDamagedOpenFileIsReplaced(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	full(t, s, "other", 1<<20)
	l := create(t, s, "a")
	fill(t, s, l, 1, 10)
	// The root of one table becomes a page of another kind: a reader of the table finds damage.
	change(t, directory, "PRAGMA writable_schema = on; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'payload'; PRAGMA schema_version = 99999")
	for n := uint64(11); n <= 20; n++ {
		require.NoError(t, l.Append(store.Entry{Number: n, Data: entry(n).Data, Payload: make([]byte, 5000)}))
	}
	until(t, s, store.Corrupt)
	require.NoError(t, s.Flush(t.Context()))
	require.EqualValues(t, 20, l.Stored())
	entries := all(t, s, "a")
	require.Len(t, entries, 11, "entries stored before are in the damaged file")
	require.Equal(t, store.Entry{Number: 10}, entries[0])
	head, err := s.Session(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, l.Epoch(), head.Epoch)
	require.NoError(t, l.Release(t.Context()))
}

func TestRemovedFileIsRecreated(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	s := open(t, directory)
	l := create(t, s, "a")
	fill(t, s, l, 1, 10)
	require.NoError(t, os.RemoveAll(directory))
	fill(t, s, l, 11, 20)
	entries := all(t, s, "a")
	require.Equal(t, store.Entry{Number: 10}, entries[0], "what was lost is a gap")
	same(t, entries[1:], 11, 20)
	require.Equal(t, store.Replaced, s.Failure().Kind)
}

// The write itself fails.
func TestFileRemovedDuringAWriteIsReported(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	s := open(t, directory)
	l := create(t, s, "a")
	fill(t, s, l, 1, 10)
	require.ErrorContains(t, s.FailAfter(t.Context(), func() { require.NoError(t, os.RemoveAll(directory)) }), "cannot be read or written")
	fill(t, s, l, 11, 20)
	require.Equal(t, store.Replaced, s.Failure().Kind)
	same(t, all(t, s, "a")[1:], 11, 20)
}

func TestReplacedFileKeepsItsContent(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	l := create(t, s, "a")
	fill(t, s, l, 1, 10)
	require.NoError(t, s.Close())
	backup, err := os.ReadFile(file(directory))
	require.NoError(t, err)
	s = open(t, directory)
	full(t, s, "other", 1<<20)
	require.NoError(t, s.Close())
	s = open(t, directory)
	full(t, s, "another", 1<<16) // it is in the write-ahead log only
	require.NoError(t, os.WriteFile(file(directory)+".backup", backup, 0o600))
	require.NoError(t, os.Rename(file(directory)+".backup", file(directory)))
	require.NoError(t, s.Flush(t.Context()))
	require.Equal(t, store.Replaced, s.Failure().Kind)
	require.Equal(t, 0, count(t, directory, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"))
	require.Equal(t, 1, count(t, directory, "SELECT count(*) FROM session"))
	same(t, all(t, s, "a"), 1, 10)
}

func TestOlderCopyOfTheFileHasAGap(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	l := create(t, s, "a")
	fill(t, s, l, 1, 10)
	change(t, directory, "VACUUM INTO ?", file(directory)+".copy")
	fill(t, s, l, 11, 20)
	require.NoError(t, os.Rename(file(directory)+".copy", file(directory)))
	fill(t, s, l, 21, 30)
	entries := all(t, s, "a")
	same(t, entries[:10], 1, 10)
	require.Equal(t, store.Entry{Number: 20}, entries[10])
	same(t, entries[11:], 21, 30)
}

func TestClockSetBackIsReported(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	fill(t, s, create(t, s, "a"), 1, 1)
	before, err := s.Session(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	synctest.Test(t, func(t *testing.T) { // its clock starts in the year 2000
		s, err := store.Open(t.Context(), store.Options{Directory: directory})
		require.NoError(t, err)
		defer s.Close()
		require.Equal(t, store.Clock, s.Failure().Kind)
		require.ErrorContains(t, s.Failure(), "correct it")
		l, err := s.Acquire(t.Context(), "a")
		require.NoError(t, err)
		fill(t, s, l, 2, 3)
		after, err := s.Session(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, before.Changed, after.Changed, "a change never sets the time back")
	})
}

func TestCancelledOperationIsAbandoned(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, func(o *store.Options) { o.Busy = 50 * time.Millisecond })
	release := hold(t, directory)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Create(ctx, store.Session{ID: "a"})
	require.Error(t, err)
	release()
	require.NoError(t, s.Flush(t.Context()))
}

func TestDamageFoundByReaderIsMovedAside(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	l := create(t, s, "a")
	fill(t, s, l, 1, 10)
	change(t, directory, "PRAGMA writable_schema = on; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'segment'; PRAGMA schema_version = 99999")
	_, err := s.Read(t.Context(), "a", 0, 0)
	require.ErrorContains(t, err, "is damaged")
	until(t, s, store.Corrupt)
	fill(t, s, l, 11, 20)
	same(t, all(t, s, "a")[1:], 11, 20)
}

// The wait for the lock is in virtual time, that of SQLite is not.
func TestOpenWaitsOnceForOthers(t *testing.T) {
	directory := t.TempDir()
	hold(t, directory) // a file without tables
	held, err := flock.Lock(t.Context(), file(directory)+".lock")
	require.NoError(t, err)
	const busy = 2 * time.Minute
	started := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(busy-time.Second, func() { _ = held.Close() })
		_, err := store.Open(t.Context(), store.Options{Directory: directory, Busy: busy})
		var trouble *store.Failure
		require.ErrorAs(t, err, &trouble)
		require.Equal(t, store.Locked, trouble.Kind)
	})
	require.Less(t, time.Since(started), busy)
}

func TestConcurrentOpen(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, open(t, directory).Close())
	held, err := flock.Lock(t.Context(), file(directory)+".lock")
	require.NoError(t, err)
	defer held.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = store.Open(ctx, store.Options{Directory: directory})
	require.ErrorIs(t, err, context.Canceled)
}

func TestSystemErrorsAreReported(t *testing.T) {
	for _, c := range []struct {
		code syscall.Errno
		want store.Kind
	}{
		{syscall.ENOSPC, store.Full},
		{syscall.EDQUOT, store.Full},
		{syscall.EIO, store.Failed},
		{syscall.EMFILE, store.Failed},
		{syscall.EROFS, store.ReadOnly},
		{syscall.EACCES, store.ReadOnly},
		{syscall.ENOTDIR, store.ReadOnly},
	} {
		err := store.Refused(store.Options{Directory: "/data"}, &os.PathError{Op: "open", Path: "/data/sessions.db", Err: c.code})
		require.Equal(t, c.want, err.Kind, c.code)
		require.ErrorContains(t, err, "/data/sessions.db")
		require.ErrorContains(t, err, "--ephemeral")
		require.ErrorIs(t, err, c.code)
	}
}
