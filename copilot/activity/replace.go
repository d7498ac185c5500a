package activity

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
)

// Replace stores a new head of an activity, and appends entries. If the owner of the activity is gone, this
// process becomes its owner. Replace is for kinds whose activities outlive processes. Errors: kind
// [fault.Busy] if another process owns the activity or it was deleted.
func (l *Log[H, E]) Replace(ctx context.Context, h H, entries ...E) error {
	return l.replace(ctx, l.row(h, true), entries)
}

// Delete deletes an activity, under the conditions of [Log.Replace].
func (l *Log[H, E]) Delete(ctx context.Context, h H) error {
	a := l.row(h, true)
	a.Done = true
	if err := l.replace(ctx, a, nil); err != nil {
		return err
	}
	_, _ = l.store.DeleteDone(ctx, l.kind.Name, time.Now().Add(time.Minute)) // otherwise the next call removes it; it can no longer be found
	return nil
}

func (l *Log[H, E]) replace(ctx context.Context, a store.Activity, entries []E) error {
	lines, err := l.encode(entries)
	if err != nil {
		return err
	}
	_, err = l.store.AppendActivity(ctx, a, lines...)
	if isLost(err) {
		_, failed := l.store.Adopt(ctx, l.kind.Name) // perhaps of others only
		if _, err = l.store.AppendActivity(ctx, a, lines...); isLost(err) && failed != nil {
			err = failed
		}
	}
	switch {
	case isLost(err):
		return fault.Errorf(fault.Busy, "another portal on the same data directory holds this %s, or it was deleted: change it there", l.kind.Name)
	case err != nil:
		return fault.Errorf(fault.Unavailable, "cannot store the %s: %w", l.kind.Name, err)
	}
	return nil
}
