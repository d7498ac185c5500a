package follow

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
)

// backWindow is the number of entries that [Backward] reads at a time.
const backWindow = 512

// Backward iterates over the entries of a record up to a number in windows, newest window first. The entries of a batch
// are in order, oldest first. A gap of evicted entries, or an error, is the last element.
func Backward(ctx context.Context, r *event.Record, n uint64) iter.Seq2[Batch[Entry], error] {
	return func(yield func(Batch[Entry], error) bool) {
		for hi := n; hi > 0; {
			lo := hi - min(hi, backWindow)
			entries, err := r.Next(ctx, lo, int(hi-lo)) //nolint:gosec // at most backWindow
			var gap *journal.GapError
			if errors.As(err, &gap) {
				yield(Batch[Entry]{Gap: gap}, nil)
				return
			}
			entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.N > hi })
			if !yield(Batch[Entry]{Entries: entries}, err) || err != nil {
				return
			}
			hi = lo
		}
	}
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
