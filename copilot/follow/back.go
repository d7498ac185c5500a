package follow

import (
	"context"
	"iter"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
)

// backWindow is the number of entries that [Backward] reads at a time.
const backWindow = 512

// Backward iterates over the entries of a record up to a number in windows, newest window first. The entries of a batch
// are in order, oldest first. A gap of evicted entries, or an error, is the last element.
func Backward(ctx context.Context, r *event.Record, n uint64) iter.Seq2[Batch[Entry], error] {
	return func(yield func(Batch[Entry], error) bool) {
		for hi := min(n, r.Last()); hi > 0; {
			lo := hi - min(hi, backWindow)
			b, err := window(ctx, r, lo, hi)
			if !yield(b, err) || err != nil || b.Gap != nil {
				return
			}
			hi = lo
		}
	}
}

// window returns the entries after lo up to hi, which the record has reached, or the gap that is among them. A record returns them in parts
// if some are in the store and some in memory.
func window(ctx context.Context, r *event.Record, lo, hi uint64) (all Batch[Entry], err error) {
	for b, err := range Record(r, lo).Until(ctx, hi) {
		if err != nil || b.Gap != nil {
			return Batch[Entry]{Gap: b.Gap}, err
		}
		all.Entries = append(all.Entries, b.Entries...)
	}
	return all, nil
}

// OpenBlocksAt returns the blocks that are open after a number of a record, for a client that reads on from there
// without the earlier entries. Evicted entries are missing in them.
func OpenBlocksAt(ctx context.Context, r *event.Record, after uint64) ([]event.Block, error) {
	from, err := lastRunEnd(ctx, r, after)
	if err != nil {
		return nil, err
	}
	var blocks event.Blocks
	for b, err := range Record(r, from).Until(ctx, after) {
		if err != nil {
			return nil, err
		}
		for _, e := range b.Entries {
			blocks.Apply(e.Value)
		}
	}
	return blocks.Open(), nil
}

// lastRunEnd returns the number of the last end of a run up to a number; only blocks after it may be open. It searches
// backward, because runs are short and records long.
func lastRunEnd(ctx context.Context, r *event.Record, after uint64) (uint64, error) {
	for b, err := range Backward(ctx, r, after) {
		switch {
		case err != nil:
			return 0, err
		case b.Gap != nil:
			return min(b.Gap.First-1, after), nil
		}
		for _, e := range slices.Backward(b.Entries) {
			if _, over := e.Value.Body.(event.RunEnded); over {
				return e.N, nil
			}
		}
	}
	return 0, nil
}

// RunBegin returns the number after which the events of a run begin; found is false if none of them is in the record. Evicted events
// do not count.
func RunBegin(ctx context.Context, r *event.Record, run string) (after uint64, found bool, err error) {
	for b, err := range Backward(ctx, r, r.Last()) {
		switch {
		case err != nil:
			return 0, false, err
		case b.Gap != nil:
			return firstOf(ctx, r, b.Gap.First-1, run)
		}
		for _, e := range slices.Backward(b.Entries) {
			if e.Value.Run != run {
				continue
			}
			found = true
			if _, first := e.Value.Body.(event.RunStarted); first {
				return e.N - 1, true, nil
			}
		}
	}
	return 0, found, nil
}

// firstOf returns the number before the first event of a run above a number.
func firstOf(ctx context.Context, r *event.Record, after uint64, run string) (before uint64, found bool, err error) {
	for b, err := range Record(r, after).Until(ctx, r.Last()) {
		if err != nil {
			return 0, false, err
		}
		for _, e := range b.Entries {
			if e.Value.Run == run {
				return e.N - 1, true, nil
			}
		}
	}
	return 0, false, nil
}
