package activity

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

// Enter says whether work may still begin. If so, Close waits until leave is called.
func (l *Log[H, E]) Enter() (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false
	}
	l.work.Add(1)
	return l.work.Done, true
}

// Go does the work of a record in a goroutine of its own. The context of the work outlives ctx; it ends with [Record.Cancel],
// [Record.Stop] and [Log.Close]. The caller has entered.
func (l *Log[H, E]) Go(ctx context.Context, r *Record[H, E], work func(context.Context)) {
	ctx, r.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records[r.id] = r
	if l.closed {
		r.stop(ErrStopping) // it ends at once
	}
	l.work.Go(func() {
		defer close(r.done)
		defer r.stop(nil)
		work(ctx)
	})
}

// Recover ends the activities whose owners are gone. Call it now and then. What cannot be ended now is tried again by the next call,
// because nobody else will: this process owns it.
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

// recover ends an adopted activity.
func (l *Log[H, E]) recover(ctx context.Context, a store.Activity) error {
	err := l.abandon(ctx, a)
	if err != nil && !isLost(err) { // lost: it was ended meanwhile
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

// tidy drops what was kept long enough, and ends what was abandoned, until ctx ends.
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
			l.options.Log.Warn("the store cannot be tidied up", "of", l.kind.Name, "error", err)
		}
	}
}

func (l *Log[H, E]) clear(ctx context.Context) (err error) {
	for _, r := range l.local() {
		err = errors.Join(err, r.settle(ctx))
		if r.isReleased() || l.isOver(r.Head()) {
			l.forget(r)
		}
	}
	_, dropErr := l.store.DeleteDone(ctx, l.kind.Name, time.Now().Add(-l.options.Retention))
	return errors.Join(err, dropErr, l.Recover(ctx))
}

func (r *Record[H, E]) isReleased() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.released && r.standing != owing
}

// forget drops a record from memory.
func (l *Log[H, E]) forget(r *Record[H, E]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.records, r.id)
}

// Stop ends all work, with the cause [ErrStopping]; none can begin any more.
func (l *Log[H, E]) Stop() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	for _, r := range l.local() {
		r.stop(ErrStopping)
	}
	l.quit()
}

// Close stops the log and waits until all work has ended, or ctx is done.
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
