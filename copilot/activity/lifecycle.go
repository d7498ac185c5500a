package activity

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

// Enter reports whether work may still start. If so, Close waits until leave is called.
func (l *Log[H, E]) Enter() (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false
	}
	l.work.Add(1)
	return l.work.Done, true
}

// Go runs the work of a record in a new goroutine. The context of the work outlives ctx; [Record.Cancel],
// [Record.Stop] and [Log.Close] cancel it. The caller must have entered.
func (l *Log[H, E]) Go(ctx context.Context, r *Record[H, E], work func(context.Context)) {
	ctx, r.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records[r.id] = r
	if l.closed {
		r.stop(ErrStopping) // cancel it at once
	}
	l.work.Go(func() {
		defer close(r.done)
		defer r.stop(nil)
		work(ctx)
	})
}

// Recover finalizes the activities whose owners are gone. Call it regularly: a failed attempt is repeated by
// the next call, and by no other process, because this process owns the activity then.
func (l *Log[H, E]) Recover(ctx context.Context) error {
	taken, err := l.store.Adopt(ctx, l.kind.Name)
	l.mu.Lock()
	for _, a := range taken {
		l.left[a.ID] = a
	}
	left := slices.Collect(maps.Values(l.left))
	l.mu.Unlock()
	for _, a := range left {
		err = errors.Join(err, l.recover(ctx, a))
	}
	return err
}

// recover finalizes an adopted activity.
func (l *Log[H, E]) recover(ctx context.Context, a store.Activity) error {
	err := l.abandon(ctx, a)
	if err != nil && !isLost(err) { // lost: it was finalized in the meantime
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.left, a.ID)
	return nil
}

func (l *Log[H, E]) abandon(ctx context.Context, a store.Activity) error {
	h, err := l.decodeHead(ctx, a)
	var undecodable decodeError
	switch {
	case errors.As(err, &undecodable):
		h = l.kind.Unreadable(a.ID, a.Created, a.Last-min(a.Last, l.kind.Lead))
	case err != nil:
		return err
	}
	end, err := l.kind.Abandon(ctx, h)
	if err != nil {
		return err
	}
	h, entries := l.apply(h, end)
	lines, err := l.encode(entries)
	if err != nil {
		return err
	}
	if _, err := l.store.AppendActivity(ctx, l.row(h, true), lines...); err != nil {
		return err
	}
	l.kind.Abandoned(ctx, h)
	return nil
}

// tidy removes expired activities and finalizes abandoned ones, until ctx is done.
func (l *Log[H, E]) tidy(ctx context.Context) {
	every := time.NewTicker(max(time.Second, min(time.Minute, l.options.Retention/4)))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if err := l.clear(ctx); err != nil && ctx.Err() == nil {
			l.options.Log.Warn("cannot remove or recover activities", "of", l.kind.Name, "error", err)
		}
	}
}

func (l *Log[H, E]) clear(ctx context.Context) (err error) {
	for _, r := range l.local() {
		if endErr := r.storeEnd(ctx); endErr != nil {
			err = errors.Join(err, endErr)
			continue // without the record, nobody could store the end: the activity would run for ever
		}
		if r.isReleased() || l.isOver(r.Head()) {
			l.evict(r)
		}
	}
	_, dropErr := l.store.DeleteDone(ctx, l.kind.Name, time.Now().Add(-l.options.Retention))
	return errors.Join(err, dropErr, l.Recover(ctx))
}

func (r *Record[H, E]) isReleased() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.released && r.standing != pending
}

// evict evicts a record from memory.
func (l *Log[H, E]) evict(r *Record[H, E]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.records, r.id)
}

// Stop cancels all work, with the cause [ErrStopping]. No work can start afterwards.
func (l *Log[H, E]) Stop() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	for _, r := range l.local() {
		r.stop(ErrStopping)
	}
	l.quit()
}

// Close stops the log and waits until all work has ended or ctx is done.
func (l *Log[H, E]) Close(ctx context.Context) {
	l.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.work.Wait()
		l.tidying.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
