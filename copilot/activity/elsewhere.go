package activity

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/ipc"
	"github.com/copilot-portal/portal/copilot/store"
)

// pollEvery is the interval at which a waiting reader polls what another process writes. readTimeout is the
// time limit of a read for a caller that does not wait.
const (
	pollEvery   = 250 * time.Millisecond
	readTimeout = 5 * time.Second
)

// storedHead returns the head in the store, or the last known one if that cannot be read.
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

// CatchUp waits until this node of a cluster has everything that others have shown by now, or for a few seconds.
func (r *Record[H, E]) CatchUp(ctx context.Context) {
	if r.IsElsewhere() {
		_ = r.log.store.CatchUp(ctx) // on failure it has what it has
	}
}

// poll implements Next for an activity that another process writes or has written.
func (r *Record[H, E]) poll(ctx context.Context, after uint64, limit int) ([]E, error) {
	for {
		entries, ended, err := r.pollOnce(ctx, after, limit)
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

// pollOnce reads once. ended is true if no entries follow and none ever will.
func (r *Record[H, E]) pollOnce(ctx context.Context, after uint64, limit int) (entries []E, ended bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	l := r.log
	a, err := l.store.Activity(ctx, l.kind.Name, r.id) // before the entries, so that a done activity has all of them
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
		return nil, false, l.kind.NotFound // it was removed in the meantime
	case !a.Done && a.Owner == 0:
		_ = l.Recover(ctx) // its owner is gone; if recovery fails, the next poll tries again
	}
	return nil, a.Done, nil
}

// dropped returns io.EOF instead of an error if the store removed an activity whose entries the reader has
// read completely.
func (r *Record[H, E]) dropped(after uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log.hasEnded(r.head) && after >= r.log.kind.Count(r.head) {
		return nil
	}
	return r.log.kind.NotFound
}

// cancelElsewhere cancels an activity that this process does not own.
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
	var ended bool
	err = ipc.ErrUnreachable
	if l.options.Processes != nil {
		err = l.options.Processes.Call(ctx, a.OwnerName, l.cancelPath(r.id), nil, &ended)
	}
	switch {
	case errors.Is(err, ipc.ErrUnreachable):
		return fault.Errorf(fault.Busy, "the %s runs in the portal with process id %d, which this one cannot reach: cancel it there", l.kind.Name, a.Owner)
	case ended:
		return ErrEnded
	}
	return err
}

// cancelPath returns the path of the call that cancels an activity.
func (l *Log[H, E]) cancelPath(id string) string { return "/" + l.kind.Name + "/" + id + "/cancel" }

// cancelForOther cancels an activity for another process. It returns whether the activity had already ended.
func (l *Log[H, E]) cancelForOther(request *http.Request) (any, error) {
	r, err := l.Get(request.Context(), request.PathValue("id"))
	if err == nil {
		err = r.Cancel(request.Context())
	}
	if errors.Is(err, ErrEnded) {
		return true, nil
	}
	return false, err
}
