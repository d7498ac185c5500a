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

// present knows the connections, by who has them.
type present struct {
	limit int

	mu    sync.Mutex
	of    map[string]map[*place]struct{}
	total int

	stopping chan struct{} // closed when nobody may come any more
	empty    chan struct{} // closed when stopping, and nobody is there
}

// place is the right to one connection.
type place struct {
	present *present
	key     string
	conn    *socket.Conn // nil until it is there
	ended   bool         // its session id is not good any more
}

func newPresent(limit int) *present {
	return &present{limit: limit, of: map[string]map[*place]struct{}{}, stopping: make(chan struct{}), empty: make(chan struct{})}
}

// enter takes a place, which is to be left. Error: [errTooMany], or kind [fault.Unavailable] when nobody may come any more.
func (p *present) enter(key string) (*place, error) {
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
		all = map[*place]struct{}{}
		p.of[key] = all
	}
	l := &place{present: p, key: key}
	all[l] = struct{}{}
	p.total++
	return l, nil
}

func (l *place) leave() {
	p := l.present
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
func (l *place) connected(conn *socket.Conn) {
	l.present.mu.Lock()
	l.conn = conn
	ended := l.ended
	l.present.mu.Unlock()
	if ended {
		go expel(conn)
	}
}

// expel closes the connections that a session id has.
func (p *present) expel(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.of[key] {
		l.ended = true
		if l.conn != nil {
			go expel(l.conn)
		}
	}
}

func expel(conn *socket.Conn) { conn.Close(closeStranger, "the session was ended") }

func (p *present) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

func (p *present) isStopping() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// close lets nobody stay longer than it needs, and waits.
func (p *present) close(ctx context.Context) {
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
