package copilot

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Limits limit a [Host]. Zero fields take the defaults named.
type Limits struct {
	Sessions int // open at the same time; default 500
	Runs     int // at the same time, except those that wait for a person; default 50

	// Question and Tool limit how long a question to a person (0: as long as its run) and a call of a client's tool
	// (0: 10 minutes) wait for an answer.
	Question time.Duration
	Tool     time.Duration

	// Idle is how long a session must be idle to be suspended, which releases its lease and its agent. It needs a store;
	// 0: 30 minutes.
	Idle time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Sessions <= 0 {
		l.Sessions = 500
	}
	if l.Runs <= 0 {
		l.Runs = 50
	}
	if l.Idle <= 0 {
		l.Idle = 30 * time.Minute
	}
	if l.Tool <= 0 {
		l.Tool = 10 * time.Minute
	}
	return l
}

// reserveSession counts a session that is to be activated. If the activation fails, [Host.releaseSession] must follow.
func (h *Host) reserveSession() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed.Load() {
		return fault.ErrStopping
	}
	if h.draining.Load() {
		return errDraining
	}
	if limit := h.options.Limits.Sessions; h.open >= limit {
		return fault.Errorf(fault.Busy, "%d sessions are open already; close one, or allow more with limits.sessions", limit)
	}
	h.open++
	return nil
}

func (h *Host) releaseSession() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
}

// slots limits the runs that work at the same time. The others wait in order.
type slots struct {
	limit int

	mu      sync.Mutex
	closed  bool
	used    int             // exceeds limit when runs that waited for a person continue
	waiting []chan struct{} // each is closed when its slot is granted
}

func newSlots(limit int) *slots { return &slots{limit: limit} }

// tryAcquire acquires a slot if one is free and no run waits.
func (p *slots) tryAcquire() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.used >= p.limit || len(p.waiting) > 0 {
		return false
	}
	p.used++
	return true
}

// acquire waits for a slot; false if ctx ends first.
func (p *slots) acquire(ctx context.Context) bool {
	mine := make(chan struct{})
	p.mu.Lock()
	p.waiting = append(p.waiting, mine)
	p.grantWaiting()
	p.mu.Unlock()
	select {
	case <-mine:
		return true
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, mine); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return false
	}
	return true // granted meanwhile
}

// count acquires a slot even if none is free, or returns one.
func (p *slots) count(taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if taken {
		p.used++
		return
	}
	p.used--
	p.grantWaiting()
}

// close stops granting slots: a host that stops must not start a waiting run with the slot of one that it has just ended.
func (p *slots) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// grantWaiting grants free slots. The caller must hold the lock.
func (p *slots) grantWaiting() {
	for !p.closed && p.used < p.limit && len(p.waiting) > 0 {
		p.used++
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
	}
}
