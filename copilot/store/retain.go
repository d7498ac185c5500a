package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// vacuumPages is how many free pages one step gives back to the system.
const vacuumPages = 2048

// Delete removes a session and everything of it. One that is held, by this process or another that lives, is an
// [*InUseError].
func (s *Store) Delete(ctx context.Context, id string) error {
	err := s.do(ctx, func(ctx context.Context, w *writer) error {
		return w.db.transaction(ctx, func() error {
			key, err := w.free(ctx, id)
			if err != nil {
				return err
			}
			return w.remove(ctx, key)
		})
	})
	if err != nil {
		return err
	}
	return s.vacuum(ctx)
}

func (w *writer) remove(ctx context.Context, key int64) error {
	for _, table := range []string{"segment", "payload", "position", "meta", "text"} {
		if _, err := w.db.exec(ctx, "DELETE FROM "+table+" WHERE session = ?", key); err != nil {
			return err
		}
	}
	_, err := w.db.exec(ctx, "DELETE FROM session WHERE key = ?", key)
	return err
}

// Retain deletes closed sessions that nobody holds, oldest first: those whose last change is longer ago than age, and
// then more until the file has no more than so many bytes in use. 0 is no limit. It returns their ids.
func (s *Store) Retain(ctx context.Context, age time.Duration, bytes int64) (deleted []string, err error) {
	for after := (Cursor{}); err == nil; {
		var id string
		err = s.do(ctx, func(ctx context.Context, w *writer) (err error) {
			id, after, err = w.expire(ctx, after, age, bytes)
			return err
		})
		if err == nil && id == "" {
			break
		}
		if err == nil {
			deleted = append(deleted, id)
		}
	}
	if len(deleted) > 0 {
		err = errors.Join(err, s.vacuum(ctx))
	}
	return deleted, err
}

// expire deletes the oldest closed session behind a place, if it is too old or the file too large, and tells where it was.
func (w *writer) expire(ctx context.Context, after Cursor, age time.Duration, bytes int64) (string, Cursor, error) {
	before := time.Now().Add(-age).UnixMilli()
	if age <= 0 {
		before = 0
	}
	large := false
	if bytes > 0 {
		used, err := w.used(ctx)
		if err != nil {
			return "", after, err
		}
		large = used > bytes
	}
	for {
		var id string
		var changed int64
		err := w.db.row(ctx, `SELECT ifnull(min(id), ''), ifnull(changed, 0) FROM (SELECT id, changed FROM session
			WHERE closed AND (changed, id) > (?, ?) AND (changed < ? OR ?) ORDER BY changed, id LIMIT 1)`,
			[]any{after.milli(), after.ID, before, large}, &id, &changed)
		if err != nil || id == "" {
			return "", after, err
		}
		after = Cursor{Changed: time.UnixMilli(changed), ID: id}
		err = w.db.transaction(ctx, func() error {
			key, err := w.free(ctx, id)
			if err != nil {
				return err
			}
			return w.remove(ctx, key)
		})
		var held *InUseError
		if !errors.As(err, &held) && !errors.Is(err, ErrNotFound) {
			return id, after, err
		}
	}
}

func (c Cursor) milli() int64 {
	if c.Changed.IsZero() {
		return -1 << 62
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

// vacuum gives free pages back to the system, in steps, so that groups are not late.
func (s *Store) vacuum(ctx context.Context) error {
	for more := true; more; {
		err := s.do(ctx, func(ctx context.Context, w *writer) (err error) {
			more, err = w.shrink(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shrink does one step and tells whether another would do something.
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
