package store

import (
	"context"
	"database/sql"
)

// mergeRows is how many small segments one step looks at.
const mergeRows = 1024

// merge is a session whose small segments wait to be merged, from a number on.
type merge struct {
	session int64
	from    uint64
}

// run is consecutive small segments that become one.
type run struct {
	first, last uint64
	count       int
	size        int  // bytes of the entries, not compressed
	stored      int  // bytes in the file
	end         bool // of the record
}

// step merges one run of small segments. Who holds the session does not matter, since nothing changes but where its
// entries lie.
func (m merge) step(ctx context.Context, w *writer) (chore, error) {
	r, err := w.small(ctx, m)
	if err != nil || r.count == 0 {
		return nil, err
	}
	if r.count > 1 {
		err = w.join(ctx, m.session, r)
	}
	if r.end { // what is appended meanwhile waits for the next time, or there would be no end
		return nil, err
	}
	return merge{session: m.session, from: r.last + 1}, err
}

// small finds the next run of small segments.
func (w *writer) small(ctx context.Context, m merge) (r run, err error) {
	var first sql.NullInt64
	if err := w.db.row(ctx, "SELECT min(first) FROM segment WHERE session = ? AND small AND first >= ?",
		[]any{m.session, m.from}, &first); err != nil || !first.Valid {
		return run{}, err
	}
	rows, err := w.db.query(ctx, `SELECT first, last, small, size, length(data) FROM segment
		WHERE session = ? AND last >= ? ORDER BY last LIMIT ?`, m.session, first.Int64, mergeRows)
	if err != nil {
		return run{}, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for r.size < segmentSize {
		if !rows.Next() {
			r.end = r.count < mergeRows
			break
		}
		var from, to uint64
		var small bool
		var size, stored int
		if err := rows.Scan(&from, &to, &small, &size, &stored); err != nil {
			return run{}, err
		}
		if !small {
			break
		}
		if r.count == 0 {
			r.first = from
		}
		r.last = to
		r.count++
		r.size += size
		r.stored += stored
	}
	return r, rows.Err()
}

// join makes one segment of a run.
func (w *writer) join(ctx context.Context, session int64, r run) error {
	entries, err := w.load(ctx, session, r)
	if err != nil {
		return err
	}
	encoded := encode(entries)
	data := deflate(encoded)
	if _, err := w.db.exec(ctx, "DELETE FROM segment WHERE session = ? AND last BETWEEN ? AND ?", session, r.first, r.last); err != nil {
		return err
	}
	if err := w.segment(ctx, session, extent{r.first, r.last, len(encoded)}, data); err != nil {
		return err
	}
	return w.grow(ctx, session, len(data)-r.stored)
}

// load reads the entries of a run.
func (w *writer) load(ctx context.Context, session int64, r run) ([]packed, error) {
	rows, err := w.db.query(ctx, "SELECT data FROM segment WHERE session = ? AND last BETWEEN ? AND ? ORDER BY last",
		session, r.first, r.last)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var all []packed
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		entries, err := decode(data)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, rows.Err()
}
