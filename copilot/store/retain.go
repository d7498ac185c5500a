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

// What one step of deleting removes at most, so that groups, and other processes, need not wait for long.
const (
	sweepBatch  = 64
	vacuumPages = 512
)

// Delete removes a session and everything of it. One that is held, by this process or another that lives, is an
// [*InUseError].
func (s *Store) Delete(ctx context.Context, id string) error {
	err := s.do(ctx, func(ctx context.Context, w *writer) error { return w.discard(ctx, id, math.MaxInt64) })
	if err != nil {
		return err
	}
	return errors.Join(s.repeat(ctx, (*writer).sweepDeleted), s.repeat(ctx, (*writer).shrink))
}

// remove makes a session one that is not there. What is large of it is swept later.
func (w *writer) remove(ctx context.Context, key int64) error {
	for _, query := range []string{
		"INSERT INTO removed (session) VALUES (?)", "DELETE FROM position WHERE session = ?",
		"DELETE FROM meta WHERE session = ?", "DELETE FROM session WHERE key = ?",
	} {
		if _, err := w.db.exec(ctx, query, key); err != nil {
			return err
		}
	}
	return nil
}

// sweepDeleted removes some of what deleted sessions have left, and tells whether there may be more.
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

// DeleteExpired deletes sessions that nobody holds, closed or not, oldest change first: those whose last change is longer ago
// than age, and then more until the file has no more than so many bytes in use. 0 is no limit. With origins, only those of
// these are looked at. It returns their ids.
func (s *Store) DeleteExpired(ctx context.Context, age time.Duration, bytes int64, origins ...string) (deleted []string, err error) {
	for after := (Cursor{}); err == nil; {
		var id string
		err = s.do(ctx, func(ctx context.Context, w *writer) (err error) {
			id, after, err = w.expire(ctx, after, age, bytes, origins)
			return err
		})
		if err == nil && id == "" {
			break
		}
		if err == nil {
			deleted = append(deleted, id)
			err = s.repeat(ctx, (*writer).sweepDeleted)
		}
	}
	return deleted, errors.Join(err, s.repeat(ctx, (*writer).shrink))
}

// expire deletes the oldest session behind a place that nobody holds, if it is too old or the file too large, and tells
// where it was.
func (w *writer) expire(ctx context.Context, after Cursor, age time.Duration, bytes int64, origins []string) (string, Cursor, error) {
	before, err := w.limit(ctx, age, bytes)
	for err == nil {
		if after, err = w.oldest(ctx, after, before, origins); err != nil || after.ID == "" {
			break
		}
		err = w.discard(ctx, after.ID, after.milli())
		var held *InUseError
		if !errors.As(err, &held) && !errors.Is(err, ErrNotFound) && !errors.Is(err, errChanged) {
			return after.ID, after, err
		}
		err = nil
	}
	return "", after, err
}

// limit tells before which moment, in milliseconds, sessions were last changed that have to go.
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

// oldest finds the session that comes next in the order of change and is not this process's own; none has no id.
func (w *writer) oldest(ctx context.Context, after Cursor, before int64, origins []string) (Cursor, error) {
	var id string
	var changed int64
	query := "SELECT id, changed FROM session WHERE (changed, id) > (?, ?) AND changed < ? AND owner IS NOT ?"
	args := []any{after.milli(), after.ID, before, w.self.key}
	if len(origins) > 0 {
		query += " AND origin IN (?" + strings.Repeat(", ?", len(origins)-1) + ")"
		for _, origin := range origins {
			args = append(args, origin)
		}
	}
	err := w.db.row(ctx, query+" ORDER BY changed, id LIMIT 1", args, &id, &changed)
	if errors.Is(err, sql.ErrNoRows) {
		return Cursor{}, nil
	}
	return Cursor{Changed: time.UnixMilli(changed), ID: id}, err
}

// errChanged says that a session was used since it was looked at.
var errChanged = errors.New("the session was changed meanwhile")

// discard removes a session unless somebody holds it or has changed it after a moment. Whether it is held is looked at
// before the file is locked as well: others that hold many old sessions shall not have to wait for each of them.
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
			return errChanged
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

// used is how many bytes of the file hold something.
func (w *writer) used(ctx context.Context) (int64, error) {
	var pages int64
	if err := w.db.row(ctx, "PRAGMA page_count", nil, &pages); err != nil {
		return 0, err
	}
	unused, err := w.unused(ctx)
	return (pages - unused) * pageSize, err
}

// repeat lets the writer do one step after the other, with groups between them, until there is no more to do.
func (s *Store) repeat(ctx context.Context, step func(*writer, context.Context) (more bool, err error)) error {
	for more := true; more; {
		err := s.do(ctx, func(ctx context.Context, w *writer) (err error) {
			more, err = step(w, ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shrink gives some free pages back to the system and tells whether another would do something.
func (w *writer) shrink(ctx context.Context) (more bool, err error) {
	before, err := w.unused(ctx)
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
	after, err := w.unused(ctx)
	return after > 0 && after < before, err
}

// unused is how many pages of the file hold nothing.
func (w *writer) unused(ctx context.Context) (pages int64, err error) {
	err = w.db.row(ctx, "PRAGMA freelist_count", nil, &pages)
	return pages, err
}
