package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// Activity is the stored part of a job, an operation or other work that is not a session. One process writes it.
type Activity struct {
	Kind, ID         string
	Created, Changed time.Time
	Head             []byte // data of the caller, replaced as a whole
	Done             bool   // it takes no more lines
	Last             uint64 // number of its newest line, 0 without lines; set by the store
	Owner            int    // process that writes it, or 0; set by the store
	OwnerName        string // its [Store.Name]
}

// activity names an activity.
type activity struct{ kind, id string }

func (a Activity) name() activity { return activity{a.Kind, a.ID} }

const selectActivity = `SELECT kind, id, created, changed, head, done, last,
	ifnull(owner.key, 0), ifnull(owner.pid, 0), ifnull(owner.start, ''), ifnull(owner.host, '')
	FROM activity LEFT JOIN owner ON owner.key = activity.owner`

// scanActivity scans a row of selectActivity, with the owner as in scanSession.
func scanActivity(dead func(owner) bool) func(scanner) (Activity, error) {
	return func(row scanner) (Activity, error) {
		var a Activity
		var o owner
		var created, changed int64
		err := row.Scan(&a.Kind, &a.ID, &created, &changed, &a.Head, &a.Done, &a.Last, &o.key, &o.pid, &o.start, &o.host)
		a.Created, a.Changed = time.UnixMilli(created), time.UnixMilli(changed)
		if o.pid != 0 && !dead(o) {
			a.Owner, a.OwnerName = o.pid, o.name()
		}
		return a, err
	}
}

// Activity returns a stored activity, or [ErrNotFound].
func (s *Store) Activity(ctx context.Context, kind, id string) (Activity, error) {
	return caughtUp(ctx, s, func() (Activity, error) { return s.activity(ctx, kind, id) })
}

func (s *Store) activity(ctx context.Context, kind, id string) (Activity, error) {
	return one(ctx, s, scanActivity(s.isDead), selectActivity+" WHERE kind = ? AND id = ?", kind, id)
}

// Activities returns at most limit activities of a kind, newest first.
func (s *Store) Activities(ctx context.Context, kind string, limit int) ([]Activity, error) {
	return many(ctx, s, scanActivity(s.deadCache()), selectActivity+" WHERE kind = ? ORDER BY created DESC, activity.key DESC LIMIT ?", kind, limit)
}

// Lines returns at most limit lines (0: no limit) and 8 MiB of an activity, at least one, from number after + 1 on. It
// returns none if there are no more at present, or no such activity.
func (s *Store) Lines(ctx context.Context, kind, id string, after uint64, limit int) ([][]byte, error) {
	return s.linesUpTo(ctx, kind, id, after, limit, readSize)
}

// linesUpTo is Lines for a number of bytes.
func (s *Store) linesUpTo(ctx context.Context, kind, id string, after uint64, limit, bytes int) ([][]byte, error) {
	if limit <= 0 {
		limit = -1
	}
	rows, err := s.read.Load().QueryContext(ctx, `SELECT data FROM line
		WHERE activity = (SELECT key FROM activity WHERE kind = ? AND id = ?) AND number > ? ORDER BY number LIMIT ?`,
		kind, id, int64(min(after, 1<<63-1)), limit)
	if err != nil {
		return nil, s.readError(err)
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	var lines [][]byte
	for size := 0; rows.Next(); {
		data, err := column[[]byte](rows)
		if err != nil {
			return nil, s.readError(err)
		}
		if size += len(data); size > bytes && len(lines) > 0 {
			break
		}
		lines = append(lines, data)
	}
	return lines, s.readError(rows.Err())
}

// Begin stores a new activity with its first lines, or nothing of it. This process writes it from now on. It fails with
// [ErrExists] if the kind and id are in use.
func (s *Store) Begin(ctx context.Context, a Activity, lines ...[]byte) error {
	if a.Created.IsZero() {
		a.Created = time.Now()
	}
	var version uint64
	err := s.do(ctx, func(ctx context.Context, w *writer) error {
		err := w.db.transaction(ctx, func() (err error) {
			if err := w.begin(ctx, a, lines); err != nil {
				return err
			}
			version, err = w.change(ctx, subject(a.Kind, a.ID))
			return err
		})
		if err == nil && !a.Done {
			w.begun[a.name()] = struct{}{}
		}
		return err
	})
	if err == nil {
		s.awaitActivity(ctx, a, version)
	}
	return err
}

func (w *writer) begin(ctx context.Context, a Activity, lines [][]byte) error {
	if err := w.registerOwner(ctx); err != nil {
		return err
	}
	var key int64
	err := w.db.row(ctx, `INSERT INTO activity (kind, id, created, changed, head, done, last, owner)
		VALUES (?, ?, ?, ?, ifnull(?, x''), ?, ?, iif(?, NULL, ?)) ON CONFLICT (kind, id) DO NOTHING RETURNING key`,
		[]any{a.Kind, a.ID, a.Created.UnixMilli(), a.Created.UnixMilli(), a.Head, a.Done, len(lines), a.Done, w.self.key}, &key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrExists
	case err != nil:
		return err
	}
	return w.insertLines(ctx, key, 1, lines)
}

// shareTime is how long a change of an activity waits for the log, whose servers may be choosing a leader.
const shareTime = 10 * time.Second

// awaitActivity waits until the log has a change of an activity, before a client that sees it goes to another node, or that node gives the
// number of a line again. If the log cannot be reached, it gets the change later.
func (s *Store) awaitActivity(ctx context.Context, a Activity, version uint64) {
	if s.options.Cluster == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shareTime)
	defer cancel()
	_ = s.options.Cluster.Await(ctx, subject(a.Kind, a.ID), version)
}

// AppendActivity appends lines to an activity that this process writes. It also stores Done, and Head unless that is
// nil; of the other fields only Kind and ID count. It returns the number of the newest line. On success everything is
// durable. It fails with [ErrLost], and writes nothing, if another process has adopted the activity, or the activity is
// done or does not exist. After any other error the lines may be stored nevertheless: see [Store.Activity].
func (s *Store) AppendActivity(ctx context.Context, a Activity, lines ...[]byte) (uint64, error) {
	var version uint64
	last, err := ask(ctx, s, func(ctx context.Context, w *writer) (last uint64, err error) {
		err = w.db.transaction(ctx, func() error {
			if last, err = w.appendActivity(ctx, a, lines); err != nil {
				return err
			}
			version, err = w.change(ctx, subject(a.Kind, a.ID))
			return err
		})
		if err == nil && a.Done || errors.Is(err, ErrLost) {
			delete(w.begun, a.name())
		}
		return last, err
	})
	if err == nil {
		s.awaitActivity(ctx, a, version)
	}
	return last, err
}

func (w *writer) appendActivity(ctx context.Context, a Activity, lines [][]byte) (last uint64, err error) {
	var key int64
	// One statement for the usual case, because a caller waits for each message.
	err = w.db.row(ctx, `UPDATE activity SET last = last + ?, head = ifnull(?, head), changed = max(changed, ?),
		done = ?, owner = iif(?, NULL, owner) WHERE kind = ? AND id = ? AND owner = ? RETURNING key, last`,
		[]any{len(lines), a.Head, time.Now().UnixMilli(), a.Done, a.Done, a.Kind, a.ID, w.self.key}, &key, &last)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, ErrLost
	case err != nil:
		return 0, err
	}
	return last, w.insertLines(ctx, key, last-uint64(len(lines))+1, lines)
}

// insertLines inserts lines of an activity, the first of which has a number.
func (w *writer) insertLines(ctx context.Context, key int64, first uint64, lines [][]byte) error {
	for i, line := range lines {
		_, err := w.db.exec(ctx, "INSERT INTO line (activity, number, data) VALUES (?, ?, ifnull(?, x''))", key, first+uint64(i), line)
		if err != nil {
			return err
		}
	}
	return nil
}

// Adopt takes over the activities of a kind that are not done and that no process writes: they were released, or their
// owner is provably gone (see [Store.Acquire]). It returns them, oldest first.
func (s *Store) Adopt(ctx context.Context, kind string) (adopted []Activity, err error) {
	free, err := ask(ctx, s, func(ctx context.Context, w *writer) ([]Activity, error) { return w.free(ctx, kind) })
	for _, a := range free {
		switch failed := s.adopt(ctx, &a); {
		case failed == nil:
			adopted = append(adopted, a)
		case !errors.Is(failed, ErrLost) && !errors.Is(failed, ErrChanged):
			err = errors.Join(err, failed)
		}
	}
	return adopted, err
}

// AwaitOwners returns when the owners of all activities of a kind that are not done are known to live or to be gone, for a caller that adopts
// them once. The proof is that of [Store.Acquire].
func (s *Store) AwaitOwners(ctx context.Context, kind string) error {
	err := s.untilProven(ctx, func() error {
		return s.do(ctx, func(ctx context.Context, w *writer) error { return w.checkOwners(ctx, kind) })
	})
	if _, lives := errors.AsType[*InUseError](err); lives {
		return ctx.Err()
	}
	return err
}

// checkOwners fails with an [*InUseError] if the owners of unfinished activities of a kind are not all gone.
func (w *writer) checkOwners(ctx context.Context, kind string) error {
	owners, err := w.ownersIn(ctx, "SELECT DISTINCT owner FROM activity WHERE kind = ? AND NOT done AND owner IS NOT NULL AND owner <> ?", kind, w.self.key)
	return cmp.Or(err, w.checkGone(owners))
}

// adopt makes this process the owner of an activity. It fails with [ErrLost] if another process writes it.
func (s *Store) adopt(ctx context.Context, a *Activity) error {
	claim, err := s.claim(ctx, func(ctx context.Context, w *writer) (Change, error) {
		if err := w.checkFree(ctx, a); err != nil {
			return Change{}, err
		}
		return w.claimActivity(ctx, a.Kind, a.ID)
	})
	if err != nil {
		return err
	}
	return s.do(ctx, func(ctx context.Context, w *writer) error {
		err := w.db.transaction(ctx, func() error { return w.adopt(ctx, a, claim) })
		if err == nil {
			w.begun[a.name()] = struct{}{}
		}
		return err
	})
}

// adopt makes this process the owner of a free activity, in a cluster after a claim, and reads it again.
func (w *writer) adopt(ctx context.Context, a *Activity, claim Logged) (err error) {
	if claim.Sequence > 0 {
		err = w.claimed(ctx, claim)
	} else {
		err = w.checkFree(ctx, a)
	}
	if err != nil {
		return err
	}
	if err := w.registerOwner(ctx); err != nil {
		return err
	}
	if _, err := w.db.exec(ctx, "UPDATE activity SET owner = ? WHERE kind = ? AND id = ?", w.self.key, a.Kind, a.ID); err != nil {
		return err
	}
	*a, err = scanActivity(w.isDead)(w.db.conn.QueryRowContext(ctx, selectActivity+" WHERE kind = ? AND id = ?", a.Kind, a.ID))
	return err
}

// checkFree fails with [ErrLost] if a process writes an activity.
func (w *writer) checkFree(ctx context.Context, a *Activity) error {
	free, err := w.free(ctx, a.Kind, a.ID)
	if err == nil && len(free) == 0 {
		err = ErrLost
	}
	return err
}

// free returns the activities of a kind that no process writes, or only that with an id.
func (w *writer) free(ctx context.Context, kind string, id ...any) ([]Activity, error) {
	gone, err := w.goneOwners(ctx)
	if err != nil {
		return nil, err
	}
	query := selectActivity + " WHERE kind = ? AND NOT done AND (activity.owner IS NULL OR activity.owner IN (SELECT value FROM json_each(?)))"
	if len(id) > 0 {
		query += " AND id = ?"
	}
	found, err := collect(ctx, w.db, scanActivity(w.deadCache()), query+" ORDER BY created, activity.key", append([]any{kind, gone}, id...)...)
	return slices.DeleteFunc(found, func(a Activity) bool {
		_, own := w.begun[a.name()]
		return own
	}), err
}

// DeleteDone deletes the activities of a kind that are done and were last changed before a moment. It returns their
// ids, also of those deleted before an error. In a cluster it passes over those that another node changes, or that the log lacks.
func (s *Store) DeleteDone(ctx context.Context, kind string, before time.Time) (ids []string, err error) {
	for after := (Cursor{}); ; {
		after, err = s.removeDone(ctx, kind, after, before)
		switch {
		case errors.Is(err, ErrChanged):
		case err != nil || after.ID == "":
			return ids, err
		default:
			ids = append(ids, after.ID)
		}
	}
}

// removeDone deletes the activity with the oldest change after a cursor, in a cluster from all nodes, and returns it; without an id if there is
// none.
func (s *Store) removeDone(ctx context.Context, kind string, after Cursor, before time.Time) (found Cursor, err error) {
	var key int64
	claim, err := s.claim(ctx, func(ctx context.Context, w *writer) (c Change, err error) {
		if key, found, err = w.oldestDone(ctx, kind, after, before); err != nil {
			return c, err
		}
		c, err = w.claimOf(ctx, subject(kind, found.ID))
		c.Removed, c.Owner = true, nil
		return c, err
	})
	if err == nil {
		err = s.do(ctx, func(ctx context.Context, w *writer) error {
			return w.db.transaction(ctx, func() (err error) {
				if claim.Sequence > 0 {
					err = w.claimed(ctx, claim)
				} else {
					key, found, err = w.oldestDone(ctx, kind, after, before)
				}
				if err != nil {
					return err
				}
				return w.removeActivity(ctx, key)
			})
		})
	}
	if errors.Is(err, ErrNotFound) {
		return Cursor{}, nil
	}
	return found, err
}

// oldestDone returns the activity with the oldest change, after a cursor, of those that are done, or [ErrNotFound].
func (w *writer) oldestDone(ctx context.Context, kind string, after Cursor, before time.Time) (key int64, found Cursor, err error) {
	var changed int64
	err = w.db.row(ctx, "SELECT key, id, changed FROM activity WHERE kind = ? AND done AND (changed, id) > (?, ?) AND changed < ? ORDER BY changed, id LIMIT 1",
		[]any{kind, after.milli(), after.ID, before.UnixMilli()}, &key, &found.ID, &changed)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	found.Changed = time.UnixMilli(changed)
	return key, found, err
}

func (w *writer) removeActivity(ctx context.Context, key int64) error {
	_, err := w.db.exec(ctx, "DELETE FROM line WHERE activity = ?", key)
	if err == nil {
		_, err = w.db.exec(ctx, "DELETE FROM activity WHERE key = ?", key)
	}
	return err
}
