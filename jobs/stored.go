package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
)

// followEvery is how often what another process writes is looked at; readTimeout is how long reading may take for
// somebody who does not wait.
const (
	followEvery = 250 * time.Millisecond
	readTimeout = 5 * time.Second
)

// storedRecord is one that another process or life has written.
func (h *Host) storedRecord(ctx context.Context, k kind, id string, notFound error) (*record, error) {
	if h.options.Store == nil {
		return nil, notFound
	}
	a, err := h.options.Store.Activity(ctx, string(k), id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, notFound
	}
	if err != nil {
		return nil, unreadable(k, err)
	}
	info, err := h.factsOf(ctx, k, a)
	switch {
	case err != nil:
		return nil, err
	case h.isOver(info):
		return nil, notFound
	}
	return &record{host: h, kind: k, id: id, info: info}, nil
}

// factsOf are those in the store, with what follows from the events behind them.
func (h *Host) factsOf(ctx context.Context, k kind, a store.Activity) (facts, error) {
	info := k.blank()
	if err := json.Unmarshal(a.Head, info); err != nil {
		return nil, copilot.Errorf(copilot.Internal, "the %s is stored in a way that cannot be read: %w", k, err)
	}
	for !a.Done && info.events()+k.lead() < a.Last {
		events, err := h.lines(ctx, k, a.ID, info.events(), 0)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			info.take(e)
		}
	}
	return info, nil
}

// lines reads stored events.
func (h *Host) lines(ctx context.Context, k kind, id string, after uint64, limit int) ([]Event, error) {
	after = min(after, 1<<62) // any number may be asked for
	lines, err := h.options.Store.Lines(ctx, string(k), id, after+k.lead(), limit)
	if err != nil {
		return nil, unreadable(k, err)
	}
	var events []Event
	for i, line := range lines {
		e, err := decode(after+uint64(i)+1, line)
		if err != nil {
			return nil, copilot.Errorf(copilot.Internal, "a stored event cannot be read: %w", err)
		}
		events = append(events, e)
	}
	return events, nil
}

// stored is what the store knows; what was known last if it cannot be read.
func (r *record) stored() facts {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	a, err := r.host.options.Store.Activity(ctx, string(r.kind), r.id)
	var info facts
	if err == nil {
		info, err = r.host.factsOf(ctx, r.kind, a)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.info = info
	}
	return r.info.copied()
}

// readOn is read for what another process or life has written.
func (r *record) readOn(ctx context.Context, after uint64, limit int) ([]Event, error) {
	for {
		events, end, err := r.readStored(ctx, after, limit)
		switch {
		case err != nil || len(events) > 0:
			return events, err
		case end:
			return nil, io.EOF
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

// readStored is one read; end says that nothing stands behind the number, nor will.
func (r *record) readStored(ctx context.Context, after uint64, limit int) (events []Event, end bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	a, err := r.host.options.Store.Activity(ctx, string(r.kind), r.id) // before the lines: what is done has all of them
	if errors.Is(err, store.ErrNotFound) {
		return nil, true, r.missing(after)
	}
	if err != nil {
		return nil, false, unreadable(r.kind, err)
	}
	events, err = r.host.lines(ctx, r.kind, r.id, after, limit)
	switch {
	case err != nil || len(events) > 0:
		return events, false, err
	case after < 1<<62 && after+r.kind.lead() < a.Last:
		return nil, false, r.kind.notFound() // just now
	case !a.Done && a.Owner == 0:
		_ = r.host.Recover(ctx) // its process has ended; if that fails now, the next look tries again
	}
	return nil, a.Done, nil
}

// missing is no error behind the end of what the store has forgotten: who has read it misses nothing.
func (r *record) missing(after uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info.status().Ended() && after >= r.info.events() {
		return nil
	}
	return r.kind.notFound()
}

func (k kind) notFound() error {
	if k == kindJob {
		return ErrJobNotFound
	}
	return ErrTaskNotFound
}

func unreadable(k kind, err error) error {
	return copilot.Errorf(copilot.Unavailable, "the %s cannot be read: %w", k, err)
}

// cancelStored says why it cannot be cancelled here.
func (r *record) cancelStored(ctx context.Context, closed error) error {
	a, err := r.host.options.Store.Activity(ctx, string(r.kind), r.id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return closed
	case err != nil:
		return unreadable(r.kind, err)
	case a.Done:
		return closed
	case a.Owner == 0:
		return r.host.Recover(ctx)
	}
	return copilot.Errorf(copilot.Busy, "the %s belongs to the portal with the process id %d: cancel it there", r.kind, a.Owner)
}
