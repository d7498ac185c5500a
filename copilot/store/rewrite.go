package store

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
)

// rewriteRows is how many segments one step of rewriting looks at, at most.
const rewriteRows = 1024

// rewrite is a session whose record waits to be written anew, from a number on: without some of its entries, and with
// segments that are small joined to larger ones. The file may be a fresh one when it comes to that, where the session's
// key is another's; the id tells.
type rewrite struct {
	session int64
	id      string
	from    uint64
	spans   []Span              // of entries to drop, in order, apart from each other
	names   map[string]struct{} // of payloads that dropped entries had
}

// below gives the parts of spans that lie before a number.
func below(spans []Span, number uint64) []Span {
	var out []Span
	for _, s := range spans {
		if s.First < number && s.First <= s.Last {
			out = append(out, Span{s.First, min(s.Last, number-1)})
		}
	}
	return out
}

// sorted brings spans in order and makes one of those that touch.
func sorted(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.First, b.First) })
	out := spans[:min(1, len(spans))]
	for _, s := range spans[len(out):] {
		if end := &out[len(out)-1].Last; s.First <= *end+1 {
			*end = max(*end, s.Last)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// from gives the spans that do not end before a number.
func from(spans []Span, number uint64) []Span {
	for len(spans) > 0 && spans[0].Last < number {
		spans = spans[1:]
	}
	return spans
}

// stored is a segment as it lies in the file.
type stored struct {
	extent
	small bool
	data  []byte
}

// step rewrites the next segments that need it as one. At the end of the record, payloads follow that perhaps nothing
// refers to any more; what is appended meanwhile waits for the next time, or there would be no end.
func (r rewrite) step(ctx context.Context, w *writer) (backgroundTask, error) {
	if known, err := w.isSameSession(ctx, r.session, r.id); err != nil || !known {
		return nil, err
	}
	found, end, err := w.next(ctx, r)
	if err == nil && len(found) > 0 {
		r.from = found[len(found)-1].last + 1
		err = w.mergeRun(ctx, r, found)
		r.spans = from(r.spans, r.from)
	}
	switch {
	case err == nil && !end:
		return r, nil
	case err == nil && len(r.names) > 0:
		return unusedPayloads{session: r.session, id: r.id, names: r.names}, nil
	}
	return nil, err
}

// isSameSession tells whether a session is still the one of a key.
func (w *writer) isSameSession(ctx context.Context, key int64, id string) (known bool, err error) {
	err = w.db.row(ctx, "SELECT count(*) FROM session WHERE key = ? AND id = ?", []any{key, id}, &known)
	return known, err
}

// next reads a segment that is small or may have entries to drop, and those of this kind that follow it at once, up to the
// size of one segment. It tells whether they are the last of the record.
func (w *writer) next(ctx context.Context, r rewrite) (found []stored, end bool, err error) {
	drop := uint64(math.MaxInt64)
	if len(r.spans) > 0 {
		drop = r.spans[0].First
	}
	var begin sql.NullInt64
	if err := w.db.row(ctx, "SELECT min(last) FROM segment WHERE session = ? AND last >= ? AND (small OR last >= ?)",
		[]any{r.session, r.from, drop}, &begin); err != nil || !begin.Valid {
		return nil, true, err
	}
	rows, err := w.db.query(ctx, "SELECT first, last, small, size, data FROM segment WHERE session = ? AND last >= ? ORDER BY last LIMIT ?",
		r.session, begin.Int64, rewriteRows)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for size := 0; size < segmentSize; {
		if !rows.Next() {
			return found, len(found) < rewriteRows, rows.Err()
		}
		var s stored
		if err := rows.Scan(&s.first, &s.last, &s.small, &s.size, &s.data); err != nil {
			return nil, false, err
		}
		left := from(r.spans, s.first)
		if len(found) > 0 && !s.small && (len(left) == 0 || left[0].First > s.last) {
			break
		}
		found = append(found, s)
		size += s.size
	}
	return found, false, rows.Err()
}

// mergeRun makes one segment of some, without the entries to drop, and notes the names of payloads that these had. Names too
// many do no harm: they are looked for before anything is deleted.
func (w *writer) mergeRun(ctx context.Context, r rewrite, found []stored) error {
	var kept []packedEntry
	spans, dropped, before := r.spans, false, 0
	for _, s := range found {
		entries, err := decode(s.data)
		if err != nil {
			return err
		}
		before += len(s.data)
		for _, e := range entries {
			spans = from(spans, e.number)
			if len(spans) == 0 || e.number < spans[0].First {
				kept = append(kept, e)
				continue
			}
			dropped = true
			for _, name := range e.names() {
				r.names[name] = struct{}{}
			}
		}
	}
	if len(found) == 1 && !dropped {
		return nil
	}
	after, err := w.replace(ctx, r.session, found[0].last, found[len(found)-1].last, kept)
	if err != nil {
		return err
	}
	return w.addSize(ctx, r.session, after-before)
}

// replace writes entries in the place of the segments that end with some numbers, and tells how many bytes that takes.
func (w *writer) replace(ctx context.Context, session int64, first, last uint64, entries []packedEntry) (int, error) {
	if len(entries) == 0 {
		_, err := w.db.exec(ctx, "DELETE FROM segment WHERE session = ? AND last BETWEEN ? AND ?", session, first, last)
		return 0, err
	}
	if _, err := w.db.exec(ctx, "DELETE FROM segment WHERE session = ? AND last >= ? AND last < ?", session, first, last); err != nil {
		return 0, err
	}
	encoded := encode(entries)
	data := deflate(encoded)
	_, err := w.db.exec(ctx, "UPDATE segment SET first = ?, last = ?, small = ?, size = ?, data = ? WHERE session = ? AND last = ?",
		entries[0].number, entries[len(entries)-1].number, len(encoded) < segmentSize/2, len(encoded), data, session, last)
	return len(data), err
}

// addSize notes that a session takes more bytes, or fewer.
func (w *writer) addSize(ctx context.Context, session int64, by int) error {
	_, err := w.db.exec(ctx, "UPDATE session SET size = size + ? WHERE key = ?", by, session)
	return err
}
