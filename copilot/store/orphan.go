package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Orphans returns the ids of sessions whose owner provably lives no more and that nobody has taken since, newest change
// first. What counts as proof is the same as for [Store.Acquire].
func (s *Store) Orphans(ctx context.Context) (ids []string, err error) {
	err = s.do(ctx, func(ctx context.Context, w *writer) (err error) {
		ids, err = w.orphans(ctx)
		return err
	})
	return ids, err
}

func (w *writer) orphans(ctx context.Context) ([]string, error) {
	gone, err := w.goneOwners(ctx, "session")
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	keys, err := json.Marshal(gone)
	if err != nil {
		return nil, err
	}
	rows, err := w.db.query(ctx, `SELECT id FROM session WHERE owner IN (SELECT value FROM json_each(?))
		ORDER BY changed DESC, id DESC`, string(keys))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		if w.leases[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
}

// goneOwners gives the keys of the owners that have sessions, or activities, and are gone.
func (w *writer) goneOwners(ctx context.Context, table string) (gone []int64, err error) {
	rows, err := w.db.query(ctx, fmt.Sprintf(`SELECT %[1]s.owner, ifnull(pid, 0), ifnull(start, ''), ifnull(host, ''), ifnull(beat, 0)
		FROM %[1]s LEFT JOIN owner ON owner.key = %[1]s.owner WHERE %[1]s.owner IS NOT NULL GROUP BY %[1]s.owner`, table))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		var o owner
		if err := rows.Scan(&o.key, &o.pid, &o.start, &o.host, &o.beat); err != nil {
			return nil, err
		}
		if w.isOwnerGone(o, time.Now()) {
			gone = append(gone, o.key)
		}
	}
	return gone, rows.Err()
}

// Named returns the ids of sessions that nobody holds and for which a number is remembered under a name, newest change
// first.
func (s *Store) Named(ctx context.Context, name string) (ids []string, err error) {
	rows, err := s.read.Load().QueryContext(ctx, `SELECT session.id FROM position JOIN session ON session.key = position.session
		WHERE position.name = ? AND session.owner IS NULL ORDER BY session.changed DESC`, name)
	if err != nil {
		return nil, s.readError(err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, s.readError(err)
		}
		ids = append(ids, id)
	}
	return ids, s.readError(rows.Err())
}
