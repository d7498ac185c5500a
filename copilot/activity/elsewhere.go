package activity

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
)

// pollEvery is how often a waiting reader looks for what another process writes; readTimeout is how long a read may take for
// somebody who does not wait.
const (
	pollEvery   = 250 * time.Millisecond
	readTimeout = 5 * time.Second
)

// storedHead is the head in the store, or the one known last if that cannot be read.
func (r *Record[H, E]) storedHead() H {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	h, err := r.log.Head(ctx, r.id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.head = h
	}
	return r.head
}

// poll is Next for what another process or life has written.
func (r *Record[H, E]) poll(ctx context.Context, after uint64, limit int) ([]E, error) {
	for {
		entries, ended, err := r.look(ctx, after, limit)
		switch {
		case err != nil || len(entries) > 0:
			return entries, err
		case ended:
			return nil, io.EOF
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// look reads once; ended says that nothing follows the number, nor ever will.
func (r *Record[H, E]) look(ctx context.Context, after uint64, limit int) (entries []E, ended bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	l := r.log
	a, err := l.store.Activity(ctx, l.kind.Name, r.id) // before the entries: what is done has all of them
	if errors.Is(err, store.ErrNotFound) {
		return nil, true, r.dropped(after)
	}
	if err != nil {
		return nil, false, l.unavailable(err)
	}
	entries, err = l.Entries(ctx, r.id, after, limit)
	switch {
	case err != nil || len(entries) > 0:
		return entries, false, err
	case after < farthest && after+l.kind.Lead < a.Last:
		return nil, false, l.kind.NotFound // it was dropped just now
	case !a.Done && a.Owner == 0:
		_ = l.Recover(ctx) // its owner is gone; if that fails now, the next look tries again
	}
	return nil, a.Done, nil
}

// dropped is no error behind the end of what the store has dropped: who has read it misses nothing.
func (r *Record[H, E]) dropped(after uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log.hasEnded(r.head) && after >= r.log.kind.Count(r.head) {
		return nil
	}
	return r.log.kind.NotFound
}

// cancelElsewhere says why an activity cannot be canceled here.
func (r *Record[H, E]) cancelElsewhere(ctx context.Context) error {
	l := r.log
	a, err := l.store.Activity(ctx, l.kind.Name, r.id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && a.Done:
		return ErrEnded
	case err != nil:
		return l.unavailable(err)
	case a.Owner == 0:
		return l.Recover(ctx)
	}
	return fault.Errorf(fault.Busy, "the %s belongs to the portal with the process id %d: cancel it there", l.kind.Name, a.Owner)
}
