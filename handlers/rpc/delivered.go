package rpc

import (
	"context"
	"sync"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
)

// markDone is the attribute in which a session keeps the position that its streams have delivered.
const markDone = "rpc.done"

// deliveredRuns is, by session, the number of the last end of a run that a stream has delivered. A
// session keeps it across a restart of the portal.
type deliveredRuns struct {
	mu        sync.Mutex
	bySession map[string]uint64
}

// markDelivered records that the end of a run is being written to a client, before the client can
// open another stream because of it. undo reverts that if the write fails.
func (d *deliveredRuns) markDelivered(s *copilot.Session, n uint64) (undo func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.bySession[s.ID()]
	if n <= before {
		return func() {}
	}
	d.set(s, n)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.bySession[s.ID()] == n {
			d.set(s, before)
		}
	}
}

// set stores a number. The caller holds the lock.
func (d *deliveredRuns) set(s *copilot.Session, n uint64) {
	d.bySession[s.ID()] = n
	s.SetReaderPosition(markDone, n)
}

func (d *deliveredRuns) last(ctx context.Context, s *copilot.Session) (uint64, error) {
	d.mu.Lock()
	n, ok := d.bySession[s.ID()]
	d.mu.Unlock()
	if ok && !s.MovesBetweenNodes() { // otherwise another node may have delivered more
		return n, nil
	}
	marks, err := s.ReaderPositions(ctx)
	if err != nil {
		return 0, fault.Errorf(fault.Unavailable, "how much of this session was delivered could not be read: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bySession[s.ID()] = max(d.bySession[s.ID()], marks[markDone])
	return d.bySession[s.ID()], nil
}

// forget drops what the session keeps itself.
func (d *deliveredRuns) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.bySession, id)
}

// startOf returns where the stream of a client without a position starts: at the oldest run whose
// end nobody received, otherwise after everything so far. gap is what is missing of that run.
func (d *deliveredRuns) startOf(ctx context.Context, s *copilot.Session) (after uint64, gap *journal.GapError, err error) {
	if after, err = d.last(ctx, s); err != nil {
		return 0, nil, err
	}
	r := follow.Record(s.Record(), after)
	for b, err := range r.Until(ctx, s.Record().Last()) {
		switch {
		case err != nil:
			return 0, nil, err
		case b.Gap != nil:
			gap = b.Gap
		}
		for _, e := range b.Entries {
			if e.Value.Run != "" {
				return e.N - 1, gap, nil
			}
		}
	}
	return r.After(), nil, nil
}
