package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Limits of one deletion step, so that groups and other processes do not wait for long.
const (
	sweepBatch  = 64
	vacuumPages = 512
)

// Delete deletes a session with everything that belongs to it. It fails with an [*InUseError] if a live process, this
// one included, holds it.
func (s *Store) Delete(ctx context.Context, id string) error {
	if err := s.untilProven(ctx, func() error { return s.discard(ctx, id, math.MaxInt64) }); err != nil {
		return err
	}
	return errors.Join(s.repeat(ctx, (*writer).sweepDeleted), s.repeat(ctx, (*writer).shrink))
}

// remove deletes a session. Its large parts are swept later.
func (w *writer) remove(ctx context.Context, key int64) error {
	var id string
	if err := w.db.row(ctx, "SELECT id FROM session WHERE key = ?", []any{key}, &id); err != nil {
		return err
	}
	if err := w.removeShares(ctx, id); err != nil {
		return err
	}
	for _, query := range []string{
		"INSERT INTO removed (session) VALUES (?)", "DELETE FROM position WHERE session = ?", "DELETE FROM pinned WHERE session = ?",
		"DELETE FROM meta WHERE session = ?", "DELETE FROM session WHERE key = ?",
	} {
		if _, err := w.db.exec(ctx, query, key); err != nil {
			return err
		}
	}
	return nil
}

// removeShares removes the shares of a session. Those that the log of the cluster does not have yet may follow the removal of
// the session there, so it needs the removal of these, too.
func (w *writer) removeShares(ctx context.Context, session string) error {
	ids, err := collect(ctx, w.db, column[string], `SELECT id FROM share WHERE session = ?
		AND EXISTS (SELECT 1 FROM shared WHERE subject = 'share/' || id AND version > shipped)`, session)
	for i := 0; i < len(ids) && err == nil; i++ {
		_, err = w.change(ctx, subject(shareKind, ids[i]))
	}
	if err == nil {
		_, err = w.db.exec(ctx, "DELETE FROM share WHERE session = ?", session)
	}
	return err
}

// sweepDeleted removes some parts of deleted sessions and reports whether there may be more.
func (w *writer) sweepDeleted(ctx context.Context) (more bool, err error) {
	var key int64
	err = w.db.row(ctx, "SELECT session FROM removed LIMIT 1", nil, &key)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, w.db.transaction(ctx, func() error {
		for _, table := range []string{"segment", "payload", "text"} {
			swept, err := w.db.exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE rowid IN (SELECT rowid FROM %[1]s WHERE session = ? LIMIT %d)",
				table, sweepBatch), key)
			if err != nil || swept == sweepBatch {
				return err
			}
		}
		_, err := w.db.exec(ctx, "DELETE FROM removed WHERE session = ?", key)
		return err
	})
}

// Deleted is a deleted session.
type Deleted struct{ ID, Model string }

// DeleteExpired deletes sessions that no process holds and nobody has pinned, closed or not, oldest change first: those whose last change is
// longer ago than age, and then more until the file uses at most bytes. 0 is no limit. With origins, it considers only
// sessions of those origins. First it removes what deleted sessions have left: of those that another process or node deleted, too. In a
// cluster it passes over those that another node changes, or that the log lacks.
func (s *Store) DeleteExpired(ctx context.Context, age time.Duration, bytes int64, origins ...string) (deleted []Deleted, err error) {
	err = s.repeat(ctx, (*writer).sweepDeleted)
	for found := (Session{}); err == nil; {
		after := found.Cursor()
		found, err = ask(ctx, s, func(ctx context.Context, w *writer) (Session, error) {
			before, err := w.limit(ctx, age, bytes)
			if err != nil {
				return Session{}, err
			}
			return w.oldest(ctx, after, before, origins)
		})
		if err != nil || found.ID == "" {
			break
		}
		err = s.discard(ctx, found.ID, found.Cursor().milli())
		var held *InUseError
		switch {
		case err == nil:
			deleted = append(deleted, Deleted{found.ID, found.Model})
			err = s.repeat(ctx, (*writer).sweepDeleted)
		case errors.As(err, &held), errors.Is(err, ErrNotFound), errors.Is(err, errNewer), errors.Is(err, ErrChanged):
			err = nil
		}
	}
	return deleted, errors.Join(err, s.repeat(ctx, (*writer).shrink))
}

// limit returns the time, in milliseconds, before which a session to delete was last changed.
func (w *writer) limit(ctx context.Context, age time.Duration, bytes int64) (int64, error) {
	if bytes > 0 {
		used, err := w.used(ctx)
		if err != nil || used > bytes {
			return math.MaxInt64, err
		}
	}
	if age <= 0 {
		return 0, nil
	}
	return time.Now().Add(-age).UnixMilli(), nil
}

// oldest returns the next session in the order of change that this process does not hold, with its id, model and last change; without an id if
// there is none.
func (w *writer) oldest(ctx context.Context, after Cursor, before int64, origins []string) (found Session, err error) {
	var changed int64
	query := "SELECT id, changed, model FROM session WHERE (changed, id) > (?, ?) AND changed < ? AND owner IS NOT ? AND key NOT IN (SELECT session FROM pinned)"
	args := []any{after.milli(), after.ID, before, w.self.key}
	if len(origins) > 0 {
		query += " AND origin IN (?" + strings.Repeat(", ?", len(origins)-1) + ")"
		for _, origin := range origins {
			args = append(args, origin)
		}
	}
	err = w.db.row(ctx, query+" ORDER BY changed, id LIMIT 1", args, &found.ID, &changed, &found.Model)
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, nil
	}
	found.Changed = time.UnixMilli(changed)
	return found, err
}

// errNewer reports that a session changed after it was selected.
var errNewer = errors.New("the session was changed meanwhile")

// discard removes a session unless a process holds it or changed it after until; in a cluster from all nodes.
func (s *Store) discard(ctx context.Context, id string, until int64) error {
	_, err := s.claim(ctx, func(ctx context.Context, w *writer) (Change, error) {
		c, err := w.claimSession(ctx, id)
		if err == nil && c.Changed > until {
			err = errNewer
		}
		c.Removed, c.Owner, c.Session = true, nil, nil
		return c, err
	})
	if err != nil {
		return err
	}
	err = s.do(ctx, func(ctx context.Context, w *writer) error { return w.discard(ctx, id, until) })
	if s.options.Cluster != nil && errors.Is(err, ErrNotFound) {
		return nil // the removal came back from the log
	}
	return err
}

// discard removes a session unless a process holds it or changed it after until. It also looks for the holder before it
// locks the file, so that processes that hold many old sessions do not wait for each of them.
func (w *writer) discard(ctx context.Context, id string, until int64) error {
	if _, err := w.freeSessionKey(ctx, id); err != nil {
		return err
	}
	return w.db.transaction(ctx, func() error {
		key, err := w.freeSessionKey(ctx, id)
		if err != nil {
			return err
		}
		var changed int64
		if err := w.db.row(ctx, "SELECT changed FROM session WHERE key = ?", []any{key}, &changed); err != nil {
			return err
		}
		if changed > until {
			return errNewer
		}
		return w.remove(ctx, key)
	})
}

func (c Cursor) milli() int64 {
	if c.Changed.IsZero() {
		return math.MinInt64
	}
	return c.Changed.UnixMilli()
}

// used returns how many bytes of the file are in use.
func (w *writer) used(ctx context.Context) (int64, error) {
	var pages int64
	if err := w.db.row(ctx, "PRAGMA page_count", nil, &pages); err != nil {
		return 0, err
	}
	unused, err := w.freePages(ctx)
	return (pages - unused) * pageSize, err
}

// repeat runs a step on the writer's goroutine until nothing is left to do. Groups run in between.
func (s *Store) repeat(ctx context.Context, step func(*writer, context.Context) (more bool, err error)) error {
	for more := true; more; {
		var err error
		more, err = ask(ctx, s, func(ctx context.Context, w *writer) (bool, error) { return step(w, ctx) })
		if err != nil {
			return err
		}
	}
	return nil
}

// shrink returns some free pages to the system and reports whether there are more.
func (w *writer) shrink(ctx context.Context) (more bool, err error) {
	before, err := w.freePages(ctx)
	if err != nil || before == 0 {
		return false, err
	}
	rows, err := w.db.conn.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumPages))
	if err != nil {
		return false, err
	}
	for rows.Next() {
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return false, err
	}
	after, err := w.freePages(ctx)
	return after > 0 && after < before, err
}

// freePages returns the number of free pages of the file.
func (w *writer) freePages(ctx context.Context) (pages int64, err error) {
	err = w.db.row(ctx, "PRAGMA freelist_count", nil, &pages)
	return pages, err
}
