package rpc

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
)

// maxRecall limits the entries that are read back.
const maxRecall = 200_000

// entriesOfRun returns the entries of the run around a number, from its start to that number.
// complete is false if some are missing.
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

// replay restores the encoder to the state in which it had sent everything up to a number: the
// client has what is open then.
func (enc *encoder) replay(ctx context.Context, record *event.Record, n uint64) error {
	entries, complete, err := entriesOfRun(ctx, record, n)
	if err != nil {
		return err
	}
	enc.unsure = !complete
	if len(entries) > 0 {
		enc.last = entries[0].N - 1
	}
	for _, e := range entries {
		enc.encode(e)
	}
	if n != enc.last { // pieces after the last entry were dropped
		enc.markGap()
	}
	for _, b := range enc.blocks {
		b.startUnseen = b.startUnseen || b.incomplete // how much of it was sent is no longer known
		b.incomplete = false
	}
	return nil
}
