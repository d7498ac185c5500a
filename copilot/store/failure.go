package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Kind is a kind of [Failure].
type Kind string

// The kinds of failures.
const (
	Locked    Kind = "locked"    // another process holds the file's lock for too long
	Full      Kind = "full"      // the disk is full, or the configured limit is reached
	ReadOnly  Kind = "read-only" // the file or its directory cannot be written
	Corrupt   Kind = "corrupt"   // the file is damaged; the text says where it was moved
	Replaced  Kind = "replaced"  // the file was removed or replaced; a fresh one is in use
	Newer     Kind = "newer"     // the file was written by a newer version
	Foreign   Kind = "foreign"   // the file belongs to another program
	Clustered Kind = "clustered" // the file belongs to a node of a cluster, and this process works without one; it is only read
	Clock     Kind = "clock"     // the clock is behind the last stored change
	Failed    Kind = "failed"    // anything else
)

// Failure reports what prevents, or prevented, the store from writing. The methods of the store return it as an error.
type Failure struct {
	Kind  Kind
	Text  string // for people: what happened and what to do
	Since time.Time
	cause error
}

// Error returns the text.
func (t *Failure) Error() string { return t.Text }

// Unwrap returns the error of SQLite or the system, if any.
func (t *Failure) Unwrap() error { return t.cause }

// failure converts an error of SQLite to a [Failure]; it returns other errors unchanged.
func (o Options) failure(err error) error {
	if from, ok := errors.AsType[*sqlite.Error](err); ok && kind(err) == "" {
		return o.describe(kindOf(from.Code()), err)
	}
	return err
}

// isIndexDamage reports whether an error is about the index of texts, which can be rebuilt.
func isIndexDamage(err error) bool {
	from, ok := errors.AsType[*sqlite.Error](err)
	return ok && from.Code() == sqlite3.SQLITE_CORRUPT_VTAB
}

// isRefusal reports whether an error is about what was to be written, not about the file.
func isRefusal(err error) bool {
	from, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains([]int{sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT}, from.Code()&0xff)
}

func kindOf(code int) Kind {
	switch code {
	case sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN:
		return Full
	}
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return Locked
	case sqlite3.SQLITE_FULL:
		return Full
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return ReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return Corrupt
	}
	return Failed
}

// systemFailure converts a system error about the directory or a file to a [Failure].
func (o Options) systemFailure(err error) *Failure {
	is := func(codes ...syscall.Errno) bool {
		return slices.ContainsFunc(codes, func(code syscall.Errno) bool { return errors.Is(err, code) })
	}
	switch {
	case is(syscall.ENOSPC, syscall.EDQUOT):
		return o.describe(Full, err)
	case is(syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOLCK, syscall.ENOSYS):
		return o.describe(Failed, err)
	}
	return o.describe(ReadOnly, err)
}

// describe returns a [Failure] with a text for people.
func (o Options) describe(kind Kind, err error) *Failure {
	const elsewhere = "use another data directory (--data-dir DIR), or store nothing (--ephemeral)"
	text := "%s cannot be read or written; check its disk, " + elsewhere
	switch kind {
	case Locked:
		text = "another process has locked %s for too long; close that program (a backup, a database viewer), " + elsewhere
	case Full:
		text = "there is no space left to write %s; free space on its disk, delete old sessions, raise the limit if there is one, " + elsewhere
	case ReadOnly:
		text = "%s cannot be written; make it and its directory writable for this user, " + elsewhere
	case Corrupt:
		text = "%s is damaged; it will be moved aside and replaced by a new file"
	case Newer:
		text = "%s was written by a newer version of this program; use that version, " + elsewhere
	case Foreign:
		text = "%s is a database of another program; move it elsewhere, " + elsewhere
	case Clustered:
		text = "%s belongs to a node of a cluster; set cluster.nats and cluster.name as that node has them, end its part in the cluster with `portal cluster leave`, " + elsewhere
	case Replaced, Clock, Failed:
	}
	return &Failure{Kind: kind, Text: fmt.Sprintf(text+" [%v]", o.file(), err), Since: time.Now(), cause: err}
}

// kind returns the kind of an error, or "" if it is not a [Failure].
func kind(err error) Kind {
	if t, ok := errors.AsType[*Failure](err); ok {
		return t.Kind
	}
	return ""
}

// Failure returns what prevents the store from writing. Otherwise it returns what happened to the file since it was
// opened (a damaged one was moved aside), or that the clock was set back, or nil.
func (s *Store) Failure() *Failure { return cmp.Or(s.failing.Load(), s.moved.Load(), s.clock.Load()) }

// Failing reports whether the store cannot write at present.
func (s *Store) Failing() bool { return s.failing.Load() != nil }

// fail records what prevents writing, and logs it once.
func (s *Store) fail(err error) {
	t, ok := errors.AsType[*Failure](err)
	if !ok {
		t = s.options.describe(Failed, err)
	}
	if old := s.failing.Load(); old != nil && old.Kind == t.Kind {
		return
	}
	s.failing.Store(t)
	s.options.Log.Error("cannot store anything", "kind", t.Kind, "error", t.Text)
}

// clearFailure records that writing works again.
func (s *Store) clearFailure() {
	if old := s.failing.Swap(nil); old != nil {
		s.options.Log.Info("storing works again", "kind", old.Kind, "after", time.Since(old.Since).Round(time.Millisecond))
	}
}

// checkClock reports a clock that is behind the last stored change.
func (s *Store) checkClock(newest, now time.Time) {
	if !now.Before(newest.Add(-time.Minute)) {
		s.clock.Store(nil)
		return
	}
	if s.clock.Load() != nil {
		return
	}
	t := &Failure{Kind: Clock, Since: now, Text: fmt.Sprintf(
		"the clock was set back: it is %s, but something was stored at %s; correct it, or new sessions are listed below old ones",
		now.Format(time.DateTime), newest.Format(time.DateTime))}
	s.clock.Store(t)
	s.options.Log.Warn(t.Text)
}
