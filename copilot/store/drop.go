package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
)

// What one step of dropping looks at, about: bytes of segments, where a row counts as some.
const (
	dropSize = 2 * segmentSize
	dropRow  = 4 << 10
)

// drop is entries of a session that wait to be removed. The file may be a fresh one when it comes to that, where the
// session's key is another's; the id tells.
type drop struct {
	session int64
	id      string
	spans   []Span              // in order, apart from each other
	names   map[string]struct{} // of payloads that removed entries had
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
	out := spans[:1]
	for _, s := range spans[1:] {
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

// step removes some of the entries. When all are removed, payloads that nothing refers to any more follow, and then the
// segments that are small now are merged.
func (d drop) step(ctx context.Context, w *writer) (chore, error) {
	if known, err := w.knows(ctx, d.session, d.id); err != nil || !known {
		return nil, err
	}
	var err error
	for room := dropSize; room > 0 && len(d.spans) > 0 && err == nil; {
		var used int
		d.spans, used, err = w.next(ctx, d)
		room -= used
	}
	switch {
	case err != nil:
		return nil, err
	case len(d.spans) > 0:
		return d, nil
	case len(d.names) > 0:
		return unused{session: d.session, id: d.id, names: d.names}, nil
	}
	return merge{session: d.session}, nil
}

// knows tells whether a session is still the one of a key.
func (w *writer) knows(ctx context.Context, key int64, id string) (known bool, err error) {
	err = w.db.row(ctx, "SELECT count(*) FROM session WHERE key = ? AND id = ?", []any{key, id}, &known)
	return known, err
}

// next removes entries from the next segment that may have some and gives the spans behind it, and what that took.
func (w *writer) next(ctx context.Context, d drop) (left []Span, used int, err error) {
	s, err := w.holding(ctx, d.session, d.spans[0].First)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, dropRow, nil
	}
	if err != nil {
		return nil, 0, err
	}
	d.spans = from(d.spans, s.first)
	if len(d.spans) == 0 || d.spans[0].First > s.last {
		return d.spans, dropRow, nil
	}
	return from(d.spans, s.last+1), dropRow + s.size, w.cut(ctx, d, s)
}

// stored is a segment as it lies in the file.
type stored struct {
	extent
	data []byte
}

// holding gives the segment that holds a number, or the next one behind it.
func (w *writer) holding(ctx context.Context, session int64, number uint64) (s stored, err error) {
	err = w.db.row(ctx, "SELECT first, last, size, data FROM segment WHERE session = ? AND last >= ? ORDER BY last LIMIT 1",
		[]any{session, number}, &s.first, &s.last, &s.size, &s.data)
	return s, err
}

// cut takes entries out of a segment and notes the names of payloads that they had. Names too many do no harm: they are
// looked for before anything is deleted.
func (w *writer) cut(ctx context.Context, d drop, s stored) error {
	entries, err := decode(s.data)
	if err != nil {
		return err
	}
	spans, kept := d.spans, make([]packed, 0, len(entries))
	for _, e := range entries {
		spans = from(spans, e.number)
		if len(spans) == 0 || e.number < spans[0].First {
			kept = append(kept, e)
			continue
		}
		for _, name := range e.names() {
			d.names[name] = struct{}{}
		}
	}
	if len(kept) == len(entries) {
		return nil
	}
	return w.rewrite(ctx, d.session, s, kept)
}

// rewrite leaves of a segment what is told.
func (w *writer) rewrite(ctx context.Context, session int64, s stored, kept []packed) error {
	var data []byte
	var err error
	if len(kept) == 0 {
		_, err = w.db.exec(ctx, "DELETE FROM segment WHERE session = ? AND last = ?", session, s.last)
	} else {
		encoded := encode(kept)
		data = deflate(encoded)
		_, err = w.db.exec(ctx, "UPDATE segment SET first = ?, last = ?, small = ?, size = ?, data = ? WHERE session = ? AND last = ?",
			kept[0].number, kept[len(kept)-1].number, len(encoded) < segmentSize/2, len(encoded), data, session, s.last)
	}
	if err != nil {
		return err
	}
	return w.grow(ctx, session, len(data)-len(s.data))
}

// grow notes that a session takes more bytes, or fewer.
func (w *writer) grow(ctx context.Context, session int64, by int) error {
	_, err := w.db.exec(ctx, "UPDATE session SET size = size + ? WHERE key = ?", by, session)
	return err
}
