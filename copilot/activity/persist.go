package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
)

// How long a write is retried while the store refuses it, and how often.
const (
	persistFor   = 5 * time.Second
	persistEvery = 250 * time.Millisecond
)

func isLost(err error) bool { return errors.Is(err, store.ErrLost) }

// persist repeats a write until it succeeds, fails permanently or takes too long.
func persist(try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), persistFor)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil || isLost(err) || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrExists) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(persistEvery):
		}
	}
}

// row returns the stored form of an activity.
func (l *Log[H, E]) row(h H, withHead bool) store.Activity {
	a := store.Activity{Kind: l.kind.Name, ID: *l.kind.ID(&h), Created: l.kind.Created(h), Done: l.hasEnded(h)}
	if withHead {
		a.Head, _ = json.Marshal(h) // strings and numbers always encode
	}
	return a
}

func (l *Log[H, E]) encode(entries []E) ([][]byte, error) {
	lines := make([][]byte, len(entries))
	for i, e := range entries {
		var err error
		if lines[i], err = l.kind.Encode(e); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// create stores a new activity with its lead: both or nothing.
func (l *Log[H, E]) create(h H, lead [][]byte) error {
	a, attempts := l.row(h, true), 0
	err := persist(func(ctx context.Context) error {
		attempts++
		err := l.store.Begin(ctx, a, lead...)
		if errors.Is(err, store.ErrExists) && attempts > 1 {
			return l.checkBegun(ctx, a)
		}
		return err
	})
	if err != nil {
		return fault.Errorf(fault.Unavailable, "cannot store the %s: %w", l.kind.Name, err)
	}
	return nil
}

// checkBegun returns nil if an attempt to store a new activity has succeeded although it returned an error, and [store.ErrExists] if another
// caller, perhaps in another process, has begun one with this id.
func (l *Log[H, E]) checkBegun(ctx context.Context, a store.Activity) error {
	now, err := l.store.Activity(ctx, a.Kind, a.ID)
	if err == nil && (now.OwnerName != l.store.Name() || !bytes.Equal(now.Head, a.Head)) {
		return store.ErrExists
	}
	return err
}

// save stores entries, and with withHead also the head.
func (r *Record[H, E]) save(h H, entries []E, withHead bool) error {
	if r.IsElsewhere() {
		return store.ErrLost
	}
	l := r.log
	lines, err := l.encode(entries)
	if err != nil {
		return err
	}
	a := l.row(h, withHead)
	err = persist(func(ctx context.Context) error {
		_, err := l.store.AppendActivity(ctx, a, lines...)
		if err != nil && l.hasArrived(ctx, h, lines) {
			return nil
		}
		return err
	})
	switch {
	case err == nil:
		return nil
	case isLost(err) && r.isForgotten():
		return fault.Errorf(fault.Unavailable, "cannot store the %ss: the store was replaced and no longer contains the %s", l.kind.Entry, l.kind.Name)
	case isLost(err), errors.Is(err, store.ErrClosed):
		return err
	}
	l.options.Log.Error("cannot store entries", "of", l.kind.Name, "id", r.id, "error", err)
	return fault.Errorf(fault.Unavailable, "cannot store the %ss: %w", l.kind.Entry, err)
}

// hasArrived reports whether a failed write has succeeded after all: its last line is the last line applied
// to the head.
func (l *Log[H, E]) hasArrived(ctx context.Context, h H, lines [][]byte) bool {
	if len(lines) == 0 {
		return false
	}
	last, err := l.store.Lines(ctx, l.kind.Name, *l.kind.ID(&h), l.kind.Count(h)-1+l.kind.Lead, 1)
	return err == nil && len(last) == 1 && bytes.Equal(last[0], lines[len(lines)-1])
}

// isForgotten reports whether no other process is known to have adopted the activity: then the store's file was
// removed or damaged and replaced by a new one, and the record in memory is authoritative.
func (r *Record[H, E]) isForgotten() bool {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	_, err := r.log.store.Activity(ctx, r.log.kind.Name, r.id)
	return err != nil
}

// storeEnd stores an end that the store refused earlier.
func (r *Record[H, E]) storeEnd(ctx context.Context) error {
	r.mu.Lock()
	h, standing := r.head, r.standing
	r.mu.Unlock()
	if standing != pending {
		return nil
	}
	a, err := r.log.store.Activity(ctx, r.log.kind.Name, r.id)
	if errors.Is(err, store.ErrNotFound) {
		return nil // a new store, in which no process looks for it
	}
	if err == nil {
		err = r.saveMissing(ctx, h, a.Last-min(a.Last, r.log.kind.Lead))
	}
	if err != nil && !isLost(err) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updateStanding(err)
	return nil
}

// saveMissing stores the entries after a number, and the head.
func (r *Record[H, E]) saveMissing(ctx context.Context, h H, after uint64) error {
	missing, err := r.Present(ctx, after)
	if err != nil {
		return err
	}
	lines, err := r.log.encode(missing)
	if err != nil {
		return err
	}
	_, err = r.log.store.AppendActivity(ctx, r.log.row(h, true), lines...)
	return err
}
