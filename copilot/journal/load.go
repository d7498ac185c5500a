package journal

import (
	"context"
	"errors"
	"fmt"
)

// load loads the requested entries if err reports that they are no longer in memory. No lock is held, so eviction may
// go on; it evicts only stored entries, which the next load finds.
func (j *Journal[T]) load(ctx context.Context, err error, limit int) ([]Entry[T], error) {
	var gap *GapError
	if !errors.As(err, &gap) {
		return nil, err
	}
	if j.options.Load == nil {
		return nil, j.notLoaded(gap, nil)
	}
	if ctx.Err() != nil { // loading is not waiting, and a caller with an ended context wants stored entries
		ctx = context.WithoutCancel(ctx)
	}
	missing := gap.First - 1 - gap.After
	entries, err := j.options.Load(ctx, gap.After, int(min(uint64(limit), missing))) //nolint:gosec // both are positive, and no more than limit
	if err == nil {
		err = increasing(gap.After, entries)
	}
	if err != nil || len(entries) == 0 {
		return nil, j.notLoaded(gap, err)
	}
	j.markSuperseded(entries)
	j.options.Meter.countLag(j.Last() - gap.After)
	return entries, nil
}

// notLoaded returns the error of a read whose entries are not in memory and perhaps not in the store.
func (j *Journal[T]) notLoaded(gap *GapError, err error) error {
	var stored *GapError
	switch {
	case errors.As(err, &stored):
		if stored.First > gap.After+1 {
			gap.First = min(gap.First, stored.First)
		}
	case err != nil:
		return fmt.Errorf("journal: load entries after %d: %w", gap.After, err)
	}
	j.options.Meter.gap()
	return gap
}

// markSuperseded flags entries whose end is among the later ones.
func (j *Journal[T]) markSuperseded(entries []Entry[T]) {
	ended := make(map[string]bool)
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		key, end := j.options.Group(e.Value)
		switch {
		case key == "":
		case end:
			ended[key] = true
		case ended[key]:
			e.Superseded = true
		}
	}
}
