package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
)

// local is what this store has of a session or activity.
type local struct {
	key         int64
	epoch, last uint64
	owner       sql.NullInt64
}

// session applies a change of a session, unless this node made it and still has it.
func (a *applier) session(ctx context.Context, id string, m Logged, x *Progress, own bool) error {
	logged := x.Number // that the log had before
	x.note(m, own)
	var has local
	err := a.db.row(ctx, "SELECT key, epoch, last, owner FROM session WHERE id = ?", []any{id}, &has.key, &has.epoch, &has.last, &has.owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return a.newSession(ctx, id, m)
	case err != nil:
		return err
	case own && !m.Removed && m.Version <= x.Version && m.Epoch <= has.epoch && m.Last <= has.last:
		return nil
	}
	a.sessions = append(a.sessions, id)
	if !own {
		if err := a.loseSession(ctx, id, has, logged); err != nil {
			return err
		}
		has.last = min(has.last, logged)
	}
	if m.Removed {
		return a.remove(ctx, has.key)
	}
	return a.applyTo(ctx, has, id, m)
}

// newSession applies a change of a session that this store does not have.
func (a *applier) newSession(ctx context.Context, id string, m Logged) error {
	if m.Removed { // its messages may have been purged before this node has read them
		return a.removeShares(ctx, id)
	}
	key, err := a.insertLogged(ctx, id, m)
	if err != nil {
		return err
	}
	a.sessions = append(a.sessions, id)
	return a.applyTo(ctx, local{key: key}, id, m)
}

// loseSession ends what this node does with a session, and keeps the entries after those that the log has in a branch.
func (a *applier) loseSession(ctx context.Context, id string, has local, logged uint64) error {
	if l := a.leases[id]; l != nil {
		a.lost = append(a.lost, l)
	}
	if has.last <= logged {
		return nil
	}
	return a.branch(ctx, has.key, logged)
}

// insertLogged inserts a session that only the log has.
func (a *applier) insertLogged(ctx context.Context, id string, m Logged) (key int64, err error) {
	created := time.Now()
	if m.Session != nil {
		created = m.Session.Created
	}
	err = a.db.row(ctx, `INSERT INTO session (id, origin, title, model, directory, created, changed, epoch, closed, last, size)
		VALUES (?, '', '', '', '', ?, 0, 0, 0, 0, 0) RETURNING key`, []any{id, created.UnixMilli()}, &key)
	return key, err
}

// bulk is the size in bytes from which on the entries of a change are compressed at once. Most are old ones, from a node that has just joined
// or was cut off, and nothing follows that merges them.
const bulk = 16 << 10

// applyTo updates a session from a change of another node, or of this one before it lost its file.
func (a *applier) applyTo(ctx context.Context, has local, id string, m Logged) error {
	owner, err := a.owner(ctx, m, has.owner)
	if err != nil {
		return err
	}
	key := has.key
	last, err := a.entries(ctx, key, has.last, m.Entries, bulk)
	if err != nil {
		return err
	}
	if _, err := a.db.exec(ctx, "UPDATE session SET epoch = ?, owner = ?, last = max(?, ?), changed = max(iif(?, 0, changed), ?) WHERE key = ?",
		m.Epoch, owner, last, m.Last, m.Claim, m.Changed, key); err != nil {
		return err
	}
	if err := a.texts(ctx, key, m.Texts); err != nil {
		return err
	}
	if m.Merge || len(m.Drop) > 0 {
		a.rewrites = append(a.rewrites, &rewrite{session: key, id: id, spans: sorted(m.Drop), notBefore: time.Now().Add(dropDelay)})
	}
	if m.Session == nil {
		return nil
	}
	return a.writeHead(ctx, key, m.Session, false)
}

// branch copies a session, with entries that the log lacks, to a new, closed session, and removes these entries from the original.
func (a *applier) branch(ctx context.Context, key int64, number uint64) error {
	id := uuid.NewString()
	var to int64
	err := a.db.row(ctx, `INSERT INTO session (id, origin, title, model, directory, created, changed, epoch, closed, last, size)
		SELECT ?, origin, title || ' (branch of ' || ? || ')', model, directory, created, changed, 1, 1, last, 0 FROM session WHERE key = ? RETURNING key`,
		[]any{id, a.node, key}, &to)
	if err != nil {
		return err
	}
	for _, query := range []string{
		"INSERT INTO meta (session, data) SELECT ?, data FROM meta WHERE session = ?",
		"INSERT INTO segment (session, first, last, small, size, data) SELECT ?, first, last, small, size, data FROM segment WHERE session = ?",
		"INSERT INTO payload (session, hash, data) SELECT ?, hash, data FROM payload WHERE session = ?",
		"INSERT INTO text (session, number, kind, body) SELECT ?, number, kind, body FROM text WHERE session = ?",
	} {
		if _, err := a.db.exec(ctx, query, to, key); err != nil {
			return err
		}
	}
	if _, err := a.change(ctx, SessionSubject(id)); err != nil {
		return err
	}
	a.options.Log.Warn("another node has taken over a session: what this node recorded alone is kept as a branch", "branch", id, "after", number)
	a.sessions = append(a.sessions, id)
	return a.truncate(ctx, key, number)
}

// truncate removes the entries after a number.
func (a *applier) truncate(ctx context.Context, key int64, number uint64) error {
	for _, query := range []string{
		"DELETE FROM segment WHERE session = ? AND first > ?", "DELETE FROM text WHERE session = ? AND number > ?",
	} {
		if _, err := a.db.exec(ctx, query, key, number); err != nil {
			return err
		}
	}
	if err := a.cut(ctx, key, number); err != nil {
		return err
	}
	_, err := a.db.exec(ctx, "UPDATE session SET last = ? WHERE key = ?", number, key)
	return err
}

// cut removes the entries after a number from the segment that begins before it.
func (a *applier) cut(ctx context.Context, key int64, number uint64) error {
	var s stored
	err := a.db.row(ctx, "SELECT last, data FROM segment WHERE session = ? AND last > ?", []any{key, number}, &s.last, &s.data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := decode(s.data)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(entries, func(e packedEntry) bool { return e.number > number })
	return a.replace(ctx, key, s.last, s.last, kept)
}
