package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"math"
	"slices"
	"time"
)

// The bounds of one step, so that groups are not late.
const (
	rewriteRows  = 1024            // segments that are joined, at most
	lookSize     = 2 * segmentSize // bytes of segments that are looked through for payloads, about
	lookRow      = 4 << 10         // what a row counts as in these
	rewriteTries = 10              // how often a step that fails is tried again
)

// rewrite is a session whose record is to be written anew in the background, in short transactions: without the entries
// of spans, with small segments joined, and then without the payloads that no entry refers to any more. What is appended
// meanwhile waits for the next time. The key may be another session's once the file was replaced: id is compared, too.
type rewrite struct {
	session int64
	id      string
	spans   []Span              // of entries to drop, in order and apart from each other
	from    uint64              // the number that the next step begins with
	names   map[string]struct{} // of payloads that dropped entries had
	looking bool                // the segments are written; names are looked for
}

// scheduleRewrite queues the record of a session to be rewritten.
func (w *writer) scheduleRewrite(l *Lease) {
	if l.writing.merge || len(l.writing.drop) > 0 {
		w.rewrites = append(w.rewrites, &rewrite{session: l.key, id: l.id, spans: sorted(l.writing.drop)})
	}
}

// canRewrite reports whether a rewrite waits that may be tried now.
func (w *writer) canRewrite() bool { return len(w.rewrites) > 0 && !time.Now().Before(w.rewriteAfter) }

// rewriteStep does one step of the first rewrite that waits. A step that fails is tried again after a pause, and in the end
// the rewrite is given up: the record stays as it is.
func (w *writer) rewriteStep(ctx context.Context) {
	if !w.canRewrite() {
		return
	}
	var next rewrite
	var done bool
	err := w.try(ctx, func(ctx context.Context) error {
		return w.db.transaction(ctx, func() (err error) {
			next = *w.rewrites[0]
			done, err = next.step(ctx, w)
			return err
		})
	})
	if err != nil {
		w.rewriteFailures++
		w.rewriteAfter = time.Now().Add(maxPause)
		w.options.Log.Warn("a record was not rewritten", "error", err, "tries", w.rewriteFailures)
		if w.rewriteFailures < rewriteTries {
			return
		}
	}
	w.rewriteFailures = 0
	if err != nil || done {
		w.rewrites = slices.Delete(w.rewrites, 0, 1)
		return
	}
	w.rewrites[0] = &next
}

// step joins segments, or looks for payloads, and reports whether nothing is left to do.
func (r *rewrite) step(ctx context.Context, w *writer) (done bool, err error) {
	var known bool
	if err := w.db.row(ctx, "SELECT count(*) FROM session WHERE key = ? AND id = ?", []any{r.session, r.id}, &known); err != nil || !known {
		return true, err
	}
	if r.looking {
		return r.removePayloads(ctx, w)
	}
	found, end, err := r.next(ctx, w)
	if err == nil && len(found) > 0 {
		err = r.join(ctx, w, found)
		r.from = found[len(found)-1].last + 1
		r.spans = from(r.spans, r.from)
	}
	if end {
		r.from, r.looking = 0, true
	}
	return end && len(r.names) == 0, err
}

// stored is a segment in the file.
type stored struct {
	first, last uint64
	size        int // when it is not compressed
	small       bool
	data        []byte
}

// next returns a segment that is small or may have entries to drop, and those of this kind that follow it, up to the size
// of one segment; end reports that no more follow.
func (r *rewrite) next(ctx context.Context, w *writer) (found []stored, end bool, err error) {
	drop := uint64(math.MaxInt64)
	if len(r.spans) > 0 {
		drop = r.spans[0].First
	}
	var begin sql.NullInt64
	if err := w.db.row(ctx, "SELECT min(last) FROM segment WHERE session = ? AND last >= ? AND (small OR last >= ?)",
		[]any{r.session, r.from, drop}, &begin); err != nil || !begin.Valid {
		return nil, true, err
	}
	rows, err := w.db.QueryContext(ctx, "SELECT first, last, small, size, data FROM segment WHERE session = ? AND last >= ? ORDER BY last LIMIT ?",
		r.session, begin.Int64, rewriteRows)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
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

// join makes one segment of some, without the entries to drop, and notes the payloads of these.
func (r *rewrite) join(ctx context.Context, w *writer, found []stored) error {
	var kept []packedEntry
	spans, dropped, before := r.spans, false, 0
	if r.names == nil {
		r.names = map[string]struct{}{}
	}
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

// replace writes entries in the place of the segments that end between two numbers, and returns how many bytes that takes.
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

// addSize changes how many bytes a session takes.
func (w *writer) addSize(ctx context.Context, session int64, by int) error {
	_, err := w.db.exec(ctx, "UPDATE session SET size = size + ? WHERE key = ?", by, session)
	return err
}

// removePayloads looks through some of the record for the payloads that dropped entries had. At the end of the record it
// deletes some of those that it did not find: no entry refers to them, since joining segments moves entries towards the end
// only, and what was appended meanwhile is looked through first.
func (r *rewrite) removePayloads(ctx context.Context, w *writer) (done bool, err error) {
	for room := lookSize; room > 0 && len(r.names) > 0; {
		var s stored
		err := w.db.row(ctx, "SELECT last, size, data FROM segment WHERE session = ? AND last >= ? ORDER BY last LIMIT 1",
			[]any{r.session, r.from}, &s.last, &s.size, &s.data)
		if errors.Is(err, sql.ErrNoRows) {
			return r.deletePayloads(ctx, w)
		}
		if err != nil {
			return false, err
		}
		entries, err := decode(s.data)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			for _, name := range e.names() {
				delete(r.names, name)
			}
		}
		r.from = s.last + 1
		room -= lookRow + s.size
	}
	return len(r.names) == 0, nil
}

// deletePayloads deletes as many payloads as one transaction may.
func (r *rewrite) deletePayloads(ctx context.Context, w *writer) (done bool, err error) {
	left, freed := maps.Clone(r.names), 0
	for name := range r.names {
		if len(r.names)-len(left) == sweepBatch {
			break
		}
		var size int
		err := w.db.row(ctx, "DELETE FROM payload WHERE session = ? AND hash = ? RETURNING length(data)",
			[]any{r.session, []byte(name)}, &size)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return false, err
		}
		freed += size
		delete(left, name)
	}
	r.names = left
	return len(left) == 0, w.addSize(ctx, r.session, -freed)
}

// below returns the parts of spans before a number.
func below(spans []Span, number uint64) []Span {
	var out []Span
	for _, s := range spans {
		if s.First < number && s.First <= s.Last {
			out = append(out, Span{s.First, min(s.Last, number-1)})
		}
	}
	return out
}

// sorted sorts spans and joins those that touch.
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

// from returns the spans that do not end before a number.
func from(spans []Span, number uint64) []Span {
	for len(spans) > 0 && spans[0].Last < number {
		spans = spans[1:]
	}
	return spans
}
