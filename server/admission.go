package server

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// limits bound how long a client may take, and how many connections may be open that have not yet sent an
// accepted request. Other connections are unlimited: all local clients share one address, and streams and
// WebSockets stay open.
type limits struct {
	header  time.Duration // for the head of a request
	idle    time.Duration // between two requests
	stall   time.Duration // until the next bytes of a body arrive
	body    time.Duration // for a whole body
	discard time.Duration // for discarding an unread body before the response
	write   time.Duration // for the client to read 64 KiB
	linger  time.Duration // for the client to read its response while it still sends
	warning time.Duration // minimum between two warnings of the same kind

	patience time.Duration // age from which an unauthenticated connection may be closed
	pending  int           // unauthenticated connections of one address, older than patience
	burst    int           // unauthenticated connections of one address, of any age
	total    int           // unauthenticated connections of all addresses
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

// connectionLimiter stops unauthenticated connections from using up all connections: if there are too many,
// it closes the oldest. A client with the token always gets in, because its first request takes milliseconds.
// It is safe for concurrent use.
type connectionLimiter struct {
	limits limits

	mu      sync.Mutex
	pending map[netip.Prefix][]*conn // by address, oldest first
	count   int
}

func newConnectionLimiter(l limits) *connectionLimiter {
	return &connectionLimiter{limits: l, pending: map[netip.Prefix][]*conn{}}
}

// add counts a connection and closes those that exceed the limits.
func (a *connectionLimiter) add(c *conn) {
	for _, old := range a.tryAdd(c) {
		abort(old.Conn) // net/http notices and cleans up
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

// isOverLimit reports whether the oldest connection of one address must be closed.
func (a *connectionLimiter) isOverLimit(own []*conn) bool {
	return len(own) > a.limits.burst || len(own) > a.limits.pending && time.Since(own[0].since) > a.limits.patience
}

// largest returns the address with the most connections.
func (a *connectionLimiter) largest() (from netip.Prefix) {
	for one, conns := range a.pending {
		if len(conns) > len(a.pending[from]) {
			from = one
		}
	}
	return from
}

// evict removes and returns the oldest connection of an address. The caller must hold mu.
func (a *connectionLimiter) evict(from netip.Prefix) *conn {
	old := a.pending[from][0]
	a.drop(old)
	return old
}

// remove stops counting a connection that was authenticated or closed.
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

// evictOld closes all connections older than patience.
func (a *connectionLimiter) evictOld() {
	for _, old := range a.old() {
		abort(old.Conn) // net/http notices and cleans up
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
