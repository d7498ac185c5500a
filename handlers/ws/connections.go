package ws

import (
	"context"
	"errors"
	"sync"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/socket"
)

// errTooMany reports that a session id has as many connections as it may.
var errTooMany = errors.New("this session has too many connections; close some")

// connectionRegistry counts the connections by visitor.
type connectionRegistry struct {
	limit int

	mu    sync.Mutex
	byKey map[string]map[*connectionSlot]struct{}
	total int

	stopping chan struct{} // closed when no more connections are accepted
	empty    chan struct{} // closed when stopping and no connection is left
}

// connectionSlot is the right to one connection. The holder must release it.
type connectionSlot struct {
	registry *connectionRegistry
	key      string
	conn     *socket.Conn // nil until connected
	ended    bool         // the session id is no longer valid
}

func newConnectionRegistry(limit int) *connectionRegistry {
	return &connectionRegistry{limit: limit, byKey: map[string]map[*connectionSlot]struct{}{}, stopping: make(chan struct{}), empty: make(chan struct{})}
}

// acquire returns a slot for a connection. Error: [errTooMany], or kind [fault.Unavailable] when the portal is stopping.
func (p *connectionRegistry) acquire(key string) (*connectionSlot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isStopping() {
		return nil, fault.Errorf(fault.Unavailable, "the portal is stopping")
	}
	all := p.byKey[key]
	if len(all) >= p.limit {
		return nil, errTooMany
	}
	if all == nil {
		all = map[*connectionSlot]struct{}{}
		p.byKey[key] = all
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
	delete(p.byKey[l.key], l)
	if len(p.byKey[l.key]) == 0 {
		delete(p.byKey, l.key)
	}
	if p.total--; p.total == 0 && p.isStopping() {
		close(p.empty)
	}
}

// connected sets the slot's connection.
func (l *connectionSlot) connected(conn *socket.Conn) {
	l.registry.mu.Lock()
	l.conn = conn
	ended := l.ended
	l.registry.mu.Unlock()
	if ended {
		go closeConnection(conn)
	}
}

// closeSession closes the connections of a session id.
func (p *connectionRegistry) closeSession(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.byKey[key] {
		l.ended = true
		if l.conn != nil {
			go closeConnection(l.conn)
		}
	}
}

func closeConnection(conn *socket.Conn) { conn.Close(closeUnauthorized, "the session was ended") }

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

// close accepts no more connections and waits until all have ended.
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
