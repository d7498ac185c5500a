package server

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// limits say how long a client may take and how many connections it may have before
// it has shown that it may be here. Afterwards it may have any number: all clients of
// loopback share an address, and streams and WebSockets last.
type limits struct {
	header  time.Duration // for the head of a request
	idle    time.Duration // between two requests
	stall   time.Duration // until the next bytes of a body
	body    time.Duration // for a whole body
	discard time.Duration // for a body that nobody reads, before its answer
	write   time.Duration // for a client to take the next 64 KiB
	linger  time.Duration // for a client to take its answer while it still sends
	warning time.Duration // between two warnings of the same kind

	patience time.Duration // after which a connection without a good request may be closed
	pending  int           // such connections of one address, older than patience
	burst    int           // such connections of one address, of any age
	total    int           // such connections of all addresses
}

func defaultLimits() limits {
	burst := min(1024, maxFiles()/4)
	return limits{
		header: 10 * time.Second, idle: 2 * time.Minute,
		stall: 10 * time.Second, body: time.Minute, discard: time.Second,
		write: 30 * time.Second, linger: 500 * time.Millisecond, warning: 10 * time.Minute,
		patience: time.Second, pending: burst / 8, burst: burst, total: 2 * burst,
	}
}

// connectionLimiter keeps connections that have brought no good request yet from taking all
// places: when there are too many, the oldest has to go. So a client with the token
// always gets in, whose first request takes milliseconds.
type connectionLimiter struct {
	limits limits

	mu      sync.Mutex
	pending map[netip.Prefix][]*conn // by address, the oldest first
	count   int
}

func newAdmission(l limits) *connectionLimiter {
	return &connectionLimiter{limits: l, pending: map[netip.Prefix][]*conn{}}
}

// add counts a connection, and closes those for which there is no room any more.
func (a *connectionLimiter) add(c *conn) {
	for _, old := range a.tryAdd(c) {
		_ = old.Conn.Close() // net/http notices, and closes the rest
	}
}

func (a *connectionLimiter) tryAdd(c *conn) (evicted []*conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending[c.from] = append(a.pending[c.from], c)
	a.count++
	for a.isOverLimit(a.pending[c.from]) {
		evicted = append(evicted, a.evict(c.from))
	}
	if a.count > a.limits.total {
		evicted = append(evicted, a.evict(a.largest()))
	}
	return evicted
}

// isOverLimit tells whether the oldest of one address has to go.
func (a *connectionLimiter) isOverLimit(own []*conn) bool {
	return len(own) > a.limits.burst || len(own) > a.limits.pending && time.Since(own[0].since) > a.limits.patience
}

// largest is the address that has the most.
func (a *connectionLimiter) largest() (from netip.Prefix) {
	for one, conns := range a.pending {
		if len(conns) > len(a.pending[from]) {
			from = one
		}
	}
	return from
}

// evict takes the oldest of one address out. Callers hold the lock.
func (a *connectionLimiter) evict(from netip.Prefix) *conn {
	old := a.pending[from][0]
	a.drop(old)
	return old
}

// remove stops counting a connection, which was admitted or closed.
func (a *connectionLimiter) remove(c *conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(c)
}

func (a *connectionLimiter) drop(c *conn) {
	own := a.pending[c.from]
	i := slices.Index(own, c)
	if i < 0 {
		return
	}
	a.count--
	if own = slices.Delete(own, i, i+1); len(own) > 0 {
		a.pending[c.from] = own
		return
	}
	delete(a.pending, c.from)
}

// evictOld closes all that have waited longer than patience.
func (a *connectionLimiter) evictOld() {
	for _, old := range a.old() {
		_ = old.Conn.Close() // net/http notices, and closes the rest
	}
}

func (a *connectionLimiter) old() (all []*conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, conns := range a.pending {
		for _, c := range conns {
			if time.Since(c.since) > a.limits.patience {
				all = append(all, c)
			}
		}
	}
	return all
}
