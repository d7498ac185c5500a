package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
)

// What one step of looking for payloads reads, about: bytes of segments, where a row counts as some.
const (
	lookSize = 2 * segmentSize
	lookRow  = 4 << 10
)

// unusedPayloads is payloads of a session that perhaps no entry refers to any more. That is so when the whole record was looked
// through and has not grown since: references move towards its end at most, when segments are merged.
type unusedPayloads struct {
	session int64
	id      string
	names   map[string]struct{} // not found so far
	from    uint64              // the number to look from
}

// step looks through some of the record and, at its end, deletes some of the payloads.
func (u unusedPayloads) step(ctx context.Context, w *writer) (backgroundTask, error) {
	if known, err := w.isSameSession(ctx, u.session, u.id); err != nil || !known {
		return nil, err
	}
	for room := lookSize; room > 0 && len(u.names) > 0; {
		var s stored
		err := w.db.row(ctx, "SELECT last, size, data FROM segment WHERE session = ? AND last >= ? ORDER BY last LIMIT 1",
			[]any{u.session, u.from}, &s.last, &s.size, &s.data)
		if errors.Is(err, sql.ErrNoRows) {
			return u.delete(ctx, w)
		}
		if err != nil {
			return nil, err
		}
		entries, err := decode(s.data)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			for _, name := range e.names() {
				delete(u.names, name)
			}
		}
		u.from = s.last + 1
		room -= lookRow + s.size
	}
	if len(u.names) == 0 {
		return nil, nil //nolint:nilnil // nothing is left to do
	}
	return u, nil
}

// delete removes some of the payloads.
func (u unusedPayloads) delete(ctx context.Context, w *writer) (backgroundTask, error) {
	left, freed, count := maps.Clone(u.names), 0, 0
	for name := range u.names {
		if count++; count > sweepBatch {
			break
		}
		var size int
		err := w.db.row(ctx, "DELETE FROM payload WHERE session = ? AND hash = ? RETURNING length(data)",
			[]any{u.session, []byte(name)}, &size)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		freed += size
		delete(left, name)
	}
	if err := w.addSize(ctx, u.session, -freed); err != nil || len(left) == 0 {
		return nil, err
	}
	u.names = left
	return u, nil
}
