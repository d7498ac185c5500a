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

// Limits of one step, so that groups are not late.
const (
	rewriteRows  = 1024            // maximum number of segments to join
	scanSize     = 2 * segmentSize // approximate bytes of segments to scan for payloads
	scanRow      = 4 << 10         // cost of a row in scanSize
	rewriteTries = 10              // tries of a step that fails
)

// rewrite rewrites the record of a session in the background, in short transactions: it drops the entries of spans,
// joins small segments, and then deletes payloads that no entry refers to. Entries appended meanwhile wait for the next
// rewrite. After the file was replaced, the key may belong to another session, so the id is compared, too.
type rewrite struct {
	session  int64
	id       string
	spans    []Span              // entries to drop, sorted and disjoint
	from     uint64              // number that the next step begins with
	names    map[string]struct{} // hashes of the payloads of dropped entries
	scanning bool                // the segments are written; their payloads are being searched

	notBefore time.Time // when the first step may begin
}

// dropDelay is how long entries that another node drops stay here: clients read them, and only that node has them in memory, too.
const dropDelay = time.Minute

// scheduleRewrite queues a rewrite of a session's record.
func (w *writer) scheduleRewrite(l *Lease) {
	if l.writing.merge || len(l.writing.drop) > 0 {
		w.rewrites = append(w.rewrites, &rewrite{session: l.key, id: l.id, spans: sorted(l.writing.drop)})
	}
}

// dueRewrite returns the index of the first rewrite that is due; -1: there is none.
func (w *writer) dueRewrite() int {
	now := time.Now()
	if now.Before(w.rewriteAfter) {
		return -1
	}
	return slices.IndexFunc(w.rewrites, func(r *rewrite) bool { return !now.Before(r.notBefore) })
}

// rewriteStep does one step of the first rewrite that is due; the next one follows after the pause. A step that fails is tried again after a pause. After the last try
// the rewrite is given up and the record stays as it is.
func (w *writer) rewriteStep(ctx context.Context) {
	first := w.dueRewrite()
	if first < 0 {
		return
	}
	var next rewrite
	var done bool
	err := w.try(ctx, func(ctx context.Context) error {
		return w.db.transaction(ctx, func() (err error) {
			next = *w.rewrites[first]
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
		w.rewrites = slices.Delete(w.rewrites, first, first+1)
	} else {
		w.rewrites[first] = &next
	}
	if w.dueRewrite() >= 0 {
		signal(w.wake)
	}
}

// step joins segments or scans for payloads, and reports whether nothing is left to do.
func (r *rewrite) step(ctx context.Context, w *writer) (done bool, err error) {
	var known bool
	if err := w.db.row(ctx, "SELECT count(*) FROM session WHERE key = ? AND id = ?", []any{r.session, r.id}, &known); err != nil || !known {
		return true, err
	}
	if r.scanning {
		return r.removePayloads(ctx, w)
	}
	found, end, err := r.next(ctx, w)
	if err == nil && len(found) > 0 {
		err = r.join(ctx, w, found)
		r.from = found[len(found)-1].last + 1
		r.spans = from(r.spans, r.from)
	}
	if end {
		r.from, r.scanning = 0, true
	}
	return end && len(r.names) == 0, err
}

// next returns a segment that is small or may have entries to drop, and those of this kind that follow it, up to the
// size of one segment; end reports that no more follow.
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

// join merges segments into one without the entries to drop, and collects the payloads of these.
func (r *rewrite) join(ctx context.Context, w *writer, found []stored) error {
	var kept []packedEntry
	spans, dropped := r.spans, false
	if r.names == nil {
		r.names = map[string]struct{}{}
	}
	for _, s := range found {
		entries, err := decode(s.data)
		if err != nil {
			return err
		}
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
	return w.replace(ctx, r.session, found[0].last, found[len(found)-1].last, kept)
}

// replace writes entries in place of the segments that end between first and last.
func (w *writer) replace(ctx context.Context, session int64, first, last uint64, entries []packedEntry) error {
	_, err := w.db.exec(ctx, "DELETE FROM segment WHERE session = ? AND last BETWEEN ? AND ?", session, first, last)
	if err != nil || len(entries) == 0 {
		return err
	}
	return w.insertSegment(ctx, session, newSegment(entries, 0))
}

// removePayloads scans a part of the record for the payloads of dropped entries. At the end of the record it deletes
// some of those that it did not find. No entry refers to them: joining moves entries only towards the end, and entries
// appended meanwhile are scanned first.
func (r *rewrite) removePayloads(ctx context.Context, w *writer) (done bool, err error) {
	for room := scanSize; room > 0 && len(r.names) > 0; {
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
		room -= scanRow + s.size
	}
	return len(r.names) == 0, nil
}

// deletePayloads deletes up to one transaction's limit of payloads.
func (r *rewrite) deletePayloads(ctx context.Context, w *writer) (done bool, err error) {
	left := maps.Clone(r.names)
	for name := range r.names {
		if len(r.names)-len(left) == sweepBatch {
			break
		}
		if _, err := w.db.exec(ctx, "DELETE FROM payload WHERE session = ? AND hash = ?", r.session, []byte(name)); err != nil {
			return false, err
		}
		delete(left, name)
	}
	r.names = left
	return len(left) == 0, nil
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

// sorted returns spans in order, with overlapping and adjacent ones joined.
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
