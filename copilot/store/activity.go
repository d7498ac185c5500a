package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Activity is what is kept of something that is not a session: an operation, a job. One process writes it.
type Activity struct {
	Kind, ID         string
	Created, Changed time.Time
	Head             []byte // whatever the caller keeps; replaced as a whole
	Done             bool   // nothing more is written to it
	Last             uint64 // the number of its newest line; 0 if there is none. Set by the store
	Owner            int    // the process that writes it, 0 if none; set by the store
}

// activity names an activity.
type activity struct{ kind, id string }

func (a Activity) name() activity { return activity{a.Kind, a.ID} }

const selectActivity = `SELECT kind, id, created, changed, head, done, last,
	ifnull(owner.pid, 0), ifnull(owner.start, ''), ifnull(owner.host, '')
	FROM activity LEFT JOIN owner ON owner.key = activity.owner`

func scanActivity(row scanner, dead func(owner) bool) (Activity, error) {
	var a Activity
	var o owner
	var created, changed int64
	err := row.Scan(&a.Kind, &a.ID, &created, &changed, &a.Head, &a.Done, &a.Last, &o.pid, &o.start, &o.host)
	a.Created, a.Changed = time.UnixMilli(created), time.UnixMilli(changed)
	if !dead(o) {
		a.Owner = o.pid
	}
	return a, err
}

// Activity returns a stored activity, or [ErrNotFound].
func (s *Store) Activity(ctx context.Context, kind, id string) (Activity, error) {
	a, err := scanActivity(s.read.Load().QueryRowContext(ctx, selectActivity+" WHERE kind = ? AND id = ?", kind, id), s.isDead)
	if errors.Is(err, sql.ErrNoRows) {
		return Activity{}, ErrNotFound
	}
	return a, s.readError(err)
}

// Activities returns at most so many activities of a kind, the newest first.
func (s *Store) Activities(ctx context.Context, kind string, limit int) ([]Activity, error) {
	rows, err := s.read.Load().QueryContext(ctx,
		selectActivity+" WHERE kind = ? ORDER BY created DESC, activity.key DESC LIMIT ?", kind, limit)
	if err != nil {
		return nil, s.readError(err)
	}
	all, err := s.activities(rows)
	return all, s.readError(err)
}

func (s *Store) activities(rows *sql.Rows) (all []Activity, err error) {
	defer rows.Close() //nolint:errcheck // Err tells
	dead := s.deadCache()
	for rows.Next() {
		a, err := scanActivity(rows, dead)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, rows.Err()
}

// Lines returns the lines of an activity behind a number, at most limit (0: no limit) and about 8 MiB. The first of
// them has the number after + 1. None means that there are no more at present, or no such activity.
func (s *Store) Lines(ctx context.Context, kind, id string, after uint64, limit int) ([][]byte, error) {
	if limit <= 0 {
		limit = -1
	}
	rows, err := s.read.Load().QueryContext(ctx, `SELECT data FROM line
		WHERE activity = (SELECT key FROM activity WHERE kind = ? AND id = ?) AND number > ? ORDER BY number LIMIT ?`,
		kind, id, int64(min(after, 1<<63-1)), limit)
	if err != nil {
		return nil, s.readError(err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var lines [][]byte
	for size := 0; size < readSize && rows.Next(); {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return nil, s.readError(err)
		}
		lines = append(lines, data)
		size += len(data)
	}
	return lines, s.readError(rows.Err())
}

// Begin stores a new activity, which this process writes from now on. One of that kind and id is [ErrExists].
func (s *Store) Begin(ctx context.Context, a Activity) error {
	if a.Created.IsZero() {
		a.Created = time.Now()
	}
	return s.do(ctx, func(ctx context.Context, w *writer) error { return w.beginActivity(ctx, a) })
}

// AppendActivity writes lines to an activity that this process writes, and its head unless that is nil, and whether it is done. Of
// the rest only kind and id are looked at. When it returns, all of that survives the process, or none of it was written;
// after an error other than [ErrLost] it may be written nevertheless, which [Store.Activity] tells. It returns the number
// of the newest line. An activity that another process has taken, that is done, or that is not there, is [ErrLost].
func (s *Store) AppendActivity(ctx context.Context, a Activity, lines ...[]byte) (last uint64, err error) {
	err = s.do(ctx, func(ctx context.Context, w *writer) (err error) {
		last, err = w.noteActivity(ctx, a, lines)
		return err
	})
	return last, err
}

// Adopt takes the activities of a kind that are not done and that nobody writes: they were given back, or their owner
// provably lives no more (see [Store.Acquire]). It returns them, the oldest first.
func (s *Store) Adopt(ctx context.Context, kind string) (taken []Activity, err error) {
	err = s.do(ctx, func(ctx context.Context, w *writer) (err error) {
		taken, err = w.adopt(ctx, kind)
		return err
	})
	return taken, err
}

// DeleteDone removes the activities of a kind that are done and were last changed before a moment. It returns their ids,
// also those that it had removed when it failed.
func (s *Store) DeleteDone(ctx context.Context, kind string, before time.Time) (ids []string, err error) {
	for {
		var id string
		err := s.do(ctx, func(ctx context.Context, w *writer) (err error) {
			id, err = w.dropDone(ctx, kind, before)
			return err
		})
		if err != nil || id == "" {
			return ids, err
		}
		ids = append(ids, id)
	}
}
