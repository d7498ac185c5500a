package rpc

import (
	"context"
	"sync"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
)

// markDone is under which name a session remembers what its streams delivered.
const markDone = "rpc.done"

// deliveredRuns is, for each session, the number of the last end of a run that a stream
// has delivered. A session remembers it when the portal ends.
type deliveredRuns struct {
	mu        sync.Mutex
	bySession map[string]uint64
}

// markDelivered notes that the end of a run is being written to a client, before it can
// open another stream because of it; undo is for when it could not be written.
func (h *deliveredRuns) markDelivered(s *copilot.Session, n uint64) (undo func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.bySession[s.ID()]
	if n <= before {
		return func() {}
	}
	h.set(s, n)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.bySession[s.ID()] == n {
			h.set(s, before)
		}
	}
}

// set is called with the lock held.
func (h *deliveredRuns) set(s *copilot.Session, n uint64) {
	h.bySession[s.ID()] = n
	s.SetReaderPosition(markDone, n)
}

func (h *deliveredRuns) last(ctx context.Context, s *copilot.Session) (uint64, error) {
	h.mu.Lock()
	n, ok := h.bySession[s.ID()]
	h.mu.Unlock()
	if ok {
		return n, nil
	}
	marks, err := s.ReaderPositions(ctx)
	if err != nil {
		return 0, fault.Errorf(fault.Unavailable, "what was told of this session could not be read: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bySession[s.ID()] = max(h.bySession[s.ID()], marks[markDone])
	return h.bySession[s.ID()], nil
}

// forget lets go what the session remembers itself.
func (h *deliveredRuns) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.bySession, id)
}

// startOf is where a stream begins whose client has no position: after gives the
// first event of the oldest run whose end nobody was told, or else nothing that
// has happened so far. gap is what is missing of that run.
func (h *deliveredRuns) startOf(ctx context.Context, s *copilot.Session) (after uint64, gap *journal.GapError, err error) {
	if after, err = h.last(ctx, s); err != nil {
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
