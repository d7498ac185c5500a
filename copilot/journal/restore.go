package journal

import "fmt"

// Restore returns an open journal that continues a stored record. The tail is what the record has after a number, oldest
// first; it is read, not kept. Everything up to that number counts as evicted: it is fetched with [Options.Load], or it is
// a gap. Numbers go on after the newest of the tail, or after the given number if the tail is empty.
//
// Numbers may have holes, where entries were superseded. An entry is superseded if it is flagged or if the tail has its
// end, so a store need not write an entry again when its end comes. Groups without an end stay open. If the tail costs more
// than the budget, its oldest entries are evicted at once. Nothing of it is pinned.
//
// The error says that the numbers do not increase.
func Restore[T any](o Options[T], after uint64, tail []Entry[T]) (*Journal[T], error) {
	if err := increasing(after, tail); err != nil {
		return nil, err
	}
	j := New(o)
	j.last, j.lost = after, after
	flagged := &group[T]{end: after + 1} // all as one, because the store does not say which ends they had
	j.ended = append(j.ended, flagged)
	for _, e := range tail {
		j.last = e.N
		cost := max(0, j.options.Cost(e.Value))
		if e.Superseded {
			j.put(e.Value, cost, flagged)
			continue
		}
		key, end := j.options.Group(e.Value)
		j.put(e.Value, cost, j.groupOf(key, end))
	}
	if len(flagged.parts) == 0 {
		j.ended = j.ended[1:]
	}
	j.Unpin(j.last)
	return j, nil
}

// increasing checks what a store has returned for everything after a number.
func increasing[T any](after uint64, entries []Entry[T]) error {
	for _, e := range entries {
		if e.N <= after {
			return fmt.Errorf("journal: stored entry %d comes after %d", e.N, after)
		}
		after = e.N
	}
	return nil
}
