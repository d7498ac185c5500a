package journal

import "fmt"

// Restore returns an open journal that continues a stored record. The tail holds the entries after a number, oldest
// first; Restore does not keep the slice. Everything up to that number counts as evicted: it is loaded with
// [Options.Load] or is a gap. Numbers continue after the newest entry of the tail, or after the given number if the
// tail is empty.
//
// Numbers may have holes where entries were superseded. An entry is superseded if it is flagged or if the tail has its
// end, so a store need not rewrite an entry when its end arrives. Groups without an end stay open. If the tail exceeds
// the budget, its oldest entries are evicted at once. None of them are pinned.
//
// Restore fails if the numbers do not increase.
func Restore[T any](o Options[T], after uint64, tail []Entry[T]) (*Journal[T], error) {
	if err := increasing(after, tail); err != nil {
		return nil, err
	}
	j := New(o)
	j.last, j.lost = after, after
	flagged := &group[T]{end: after + 1} // one group for all, because the store does not report which ends they had
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

// increasing checks entries that a store returned as those after a number.
func increasing[T any](after uint64, entries []Entry[T]) error {
	for _, e := range entries {
		if e.N <= after {
			return fmt.Errorf("journal: stored entry %d comes after %d", e.N, after)
		}
		after = e.N
	}
	return nil
}
