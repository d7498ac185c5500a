package store

import (
	"context"
	"database/sql"
	"errors"
)

// activity applies a change of an activity, unless this node made it and still has it.
func (a *applier) activity(ctx context.Context, kind, id string, m Logged, x *Progress, own bool) error {
	logged := x.Number // that the log had before
	x.note(m, own)
	var has local
	err := a.db.row(ctx, "SELECT key, last, owner FROM activity WHERE kind = ? AND id = ?", []any{kind, id}, &has.key, &has.last, &has.owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return a.newActivity(ctx, kind, id, m)
	case err != nil, own && !m.Claim && m.Version <= x.Version && m.Last <= has.last:
		return err
	}
	if !own || m.Removed {
		a.ended = append(a.ended, activity{kind, id})
	}
	if m.Removed {
		return a.removeActivity(ctx, has.key)
	}
	if !own {
		if err := a.dropLines(ctx, kind, id, &has, logged); err != nil {
			return err
		}
	}
	return a.updateActivity(ctx, has, m)
}

// newActivity applies a change of an activity that this store does not have.
func (a *applier) newActivity(ctx context.Context, kind, id string, m Logged) error {
	if m.Activity == nil { // removed
		return nil
	}
	var has local
	if err := a.db.row(ctx, `INSERT INTO activity (kind, id, created, changed, head, done, last) VALUES (?, ?, ?, 0, x'', 0, 0) RETURNING key`,
		[]any{kind, id, m.Activity.Created.UnixMilli()}, &has.key); err != nil {
		return err
	}
	return a.updateActivity(ctx, has, m)
}

// dropLines removes the lines of an activity that the log lacks.
func (a *applier) dropLines(ctx context.Context, kind, id string, has *local, logged uint64) error {
	if has.last <= logged {
		return nil
	}
	a.options.Log.Warn("another node has adopted an activity: its last lines of this node are dropped", "kind", kind, "id", id, "lines", has.last-logged)
	has.last = logged
	_, err := a.db.exec(ctx, "DELETE FROM line WHERE activity = ? AND number > ?", has.key, logged)
	return err
}

// updateActivity updates an activity from a change.
func (a *applier) updateActivity(ctx context.Context, has local, m Logged) error {
	owner, err := a.owner(ctx, m, has.owner)
	if err != nil {
		return err
	}
	for _, e := range m.Entries {
		if e.Number <= has.last {
			continue
		}
		if _, err := a.db.exec(ctx, "INSERT OR REPLACE INTO line (activity, number, data) VALUES (?, ?, ifnull(?, x''))", has.key, e.Number, e.Data); err != nil {
			return err
		}
	}
	if _, err := a.db.exec(ctx, "UPDATE activity SET owner = ?, last = ? WHERE key = ?", owner, max(has.last, m.Last), has.key); err != nil || m.Activity == nil {
		return err
	}
	h := m.Activity
	_, err = a.db.exec(ctx, "UPDATE activity SET changed = ?, head = ifnull(?, x''), done = ? WHERE key = ?", h.Changed.UnixMilli(), h.Head, h.Done, has.key)
	return err
}
