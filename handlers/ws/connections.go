package ws

import (
	"context"
	"errors"
	"sync"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/socket"
)

// errTooMany says that a session id has as many connections as it may.
var errTooMany = errors.New("this session has too many connections; close some")

// connectionRegistry knows the connections, by who has them.
type connectionRegistry struct {
	limit int

	mu    sync.Mutex
	of    map[string]map[*connectionSlot]struct{}
	total int

	stopping chan struct{} // closed when nobody may come any more
	empty    chan struct{} // closed when stopping, and nobody is there
}

// connectionSlot is the right to one connection.
type connectionSlot struct {
	registry *connectionRegistry
	key      string
	conn     *socket.Conn // nil until it is there
	ended    bool         // its session id is not good any more
}

func newConnectionRegistry(limit int) *connectionRegistry {
	return &connectionRegistry{limit: limit, of: map[string]map[*connectionSlot]struct{}{}, stopping: make(chan struct{}), empty: make(chan struct{})}
}

// acquire takes a place, which is to be left. Error: [errTooMany], or kind [fault.Unavailable] when nobody may come any more.
func (p *connectionRegistry) acquire(key string) (*connectionSlot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isStopping() {
		return nil, fault.Errorf(fault.Unavailable, "the portal is stopping")
	}
	all := p.of[key]
	if len(all) >= p.limit {
		return nil, errTooMany
	}
	if all == nil {
		all = map[*connectionSlot]struct{}{}
		p.of[key] = all
	}
	l := &connectionSlot{registry: p, key: key}
	all[l] = struct{}{}
	p.total++
	return l, nil
}

func (l *connectionSlot) release() {
	p := l.registry
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of[l.key], l)
	if len(p.of[l.key]) == 0 {
		delete(p.of, l.key)
	}
	if p.total--; p.total == 0 && p.isStopping() {
		close(p.empty)
	}
}

// connected says which connection it is.
func (l *connectionSlot) connected(conn *socket.Conn) {
	l.registry.mu.Lock()
	l.conn = conn
	ended := l.ended
	l.registry.mu.Unlock()
	if ended {
		go closeConnections(conn)
	}
}

// closeSession closes the connections that a session id has.
func (p *connectionRegistry) closeSession(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.of[key] {
		l.ended = true
		if l.conn != nil {
			go closeConnections(l.conn)
		}
	}
}

func closeConnections(conn *socket.Conn) { conn.Close(closeUnauthorized, "the session was ended") }

func (p *connectionRegistry) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

func (p *connectionRegistry) isStopping() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// close lets nobody stay longer than it needs, and waits.
func (p *connectionRegistry) close(ctx context.Context) {
	p.mu.Lock()
	if !p.isStopping() {
		close(p.stopping)
		if p.total == 0 {
			close(p.empty)
		}
	}
	p.mu.Unlock()
	select {
	case <-p.empty:
	case <-ctx.Done():
	}
}
