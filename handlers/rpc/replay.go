package rpc

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
)

// maxRecall is how many entries are read back at most.
const maxRecall = 200_000

// entriesOfRun gives the entries of the run that stands around a number, from its
// beginning to that number. complete is false if they cannot all be had.
func entriesOfRun(ctx context.Context, record *event.Record, n uint64) (entries []follow.Entry, complete bool, err error) {
	for b, err := range follow.Backward(ctx, record, n) {
		switch {
		case err != nil:
			return nil, false, err
		case b.Gap != nil, len(entries) >= maxRecall:
			return entries, false, nil
		}
		for i, e := range slices.Backward(b.Entries) {
			switch e.Value.Body.(type) {
			case event.RunStarted, event.RunEnded:
				return slices.Concat(b.Entries[i:], entries), true, nil
			}
		}
		entries = slices.Concat(b.Entries, entries)
	}
	return entries, true, nil
}

// replay brings the encoder to the state that it had when it had sent everything up to a
// number: what is open then was told to the client before.
func (t *encoder) replay(ctx context.Context, record *event.Record, n uint64) error {
	entries, complete, err := entriesOfRun(ctx, record, n)
	if err != nil {
		return err
	}
	t.unsure = !complete
	if len(entries) > 0 {
		t.last = entries[0].N - 1
	}
	for _, e := range entries {
		t.encode(e)
	}
	if n != t.last { // pieces were dropped behind the last entry
		t.markGap()
	}
	for _, b := range t.blocks {
		b.startUnseen = b.startUnseen || b.incomplete // how much of it was told cannot be had any more
		b.incomplete = false
	}
	return nil
}
