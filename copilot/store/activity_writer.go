package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

func (w *writer) beginActivity(ctx context.Context, a Activity) error {
	err := w.db.transaction(ctx, func() error {
		if err := w.registerOwner(ctx); err != nil {
			return err
		}
		made, err := w.db.exec(ctx, `INSERT INTO activity (kind, id, created, changed, head, done, last, owner)
			VALUES (?, ?, ?, ?, ifnull(?, x''), ?, 0, iif(?, NULL, ?)) ON CONFLICT (kind, id) DO NOTHING`,
			a.Kind, a.ID, a.Created.UnixMilli(), a.Created.UnixMilli(), a.Head, a.Done, a.Done, w.self.key)
		if err == nil && made == 0 {
			return ErrExists
		}
		return err
	})
	if err == nil && !a.Done {
		w.begun[a.name()] = struct{}{}
	}
	return err
}

func (w *writer) noteActivity(ctx context.Context, a Activity, lines [][]byte) (last uint64, err error) {
	err = w.db.transaction(ctx, func() error {
		var key int64
		// What went wrong is looked for only when it did: this is done for each message that somebody waits for.
		err := w.db.row(ctx, `UPDATE activity SET last = last + ?, head = ifnull(?, head), changed = max(changed, ?),
			done = ?, owner = iif(?, NULL, owner) WHERE kind = ? AND id = ? AND owner = ? RETURNING key, last`,
			[]any{len(lines), a.Head, time.Now().UnixMilli(), a.Done, a.Done, a.Kind, a.ID, w.self.key}, &key, &last)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrLost
		}
		if err != nil {
			return err
		}
		return w.lines(ctx, key, last-uint64(len(lines)), lines)
	})
	if err == nil && a.Done || errors.Is(err, ErrLost) {
		delete(w.begun, a.name())
	}
	return last, err
}

func (w *writer) lines(ctx context.Context, key int64, last uint64, lines [][]byte) error {
	for _, line := range lines {
		last++
		if _, err := w.db.exec(ctx, "INSERT INTO line (activity, number, data) VALUES (?, ?, ifnull(?, x''))", key, last, line); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) adopt(ctx context.Context, kind string) (taken []Activity, err error) {
	err = w.db.transaction(ctx, func() error {
		gone, err := w.goneOwners(ctx, "activity")
		if err != nil {
			return err
		}
		if taken, err = w.adoptFrom(ctx, kind, gone); err != nil || len(taken) == 0 {
			return err
		}
		return w.registerOwner(ctx)
	})
	if err != nil {
		return nil, err
	}
	for i := range taken {
		taken[i].Owner = w.self.pid
		w.begun[taken[i].name()] = struct{}{}
	}
	return taken, nil
}

// adoptFrom makes this process the one that writes what nobody does, or one of those who are gone.
func (w *writer) adoptFrom(ctx context.Context, kind string, gone []int64) (taken []Activity, err error) {
	keys, err := json.Marshal(gone)
	if err != nil {
		return nil, err
	}
	rows, err := w.db.query(ctx, selectActivity+` WHERE kind = ? AND NOT done
		AND (activity.owner IS NULL OR activity.owner IN (SELECT value FROM json_each(?))) ORDER BY created, activity.key`, kind, string(keys))
	if err != nil {
		return nil, err
	}
	found, err := w.activities(rows)
	for _, a := range found {
		if _, own := w.begun[a.name()]; own || err != nil {
			continue
		}
		_, err = w.db.exec(ctx, "UPDATE activity SET owner = ? WHERE kind = ? AND id = ?", w.self.key, a.Kind, a.ID)
		taken = append(taken, a)
	}
	return taken, err
}

// dropDone removes one activity, the one that was changed first, and tells which; none is "".
func (w *writer) dropDone(ctx context.Context, kind string, before time.Time) (id string, err error) {
	err = w.db.transaction(ctx, func() error {
		var key int64
		err := w.db.row(ctx, `DELETE FROM activity WHERE key = (SELECT key FROM activity
			WHERE kind = ? AND done AND changed < ? ORDER BY changed LIMIT 1) RETURNING key, id`,
			[]any{kind, before.UnixMilli()}, &key, &id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = w.db.exec(ctx, "DELETE FROM line WHERE activity = ?", key)
		return err
	})
	return id, err
}
