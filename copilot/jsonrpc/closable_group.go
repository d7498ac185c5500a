package jsonrpc

import "sync"

// closableGroup counts work in progress until it is closed and empty. Unlike a [sync.WaitGroup], it may be waited for
// while work is being added.
type closableGroup struct {
	mu     sync.Mutex
	count  int
	closed bool
	empty  chan struct{}
}

func newClosableGroup() *closableGroup { return &closableGroup{empty: make(chan struct{})} }

// add adds one, unless the group is closed.
func (g *closableGroup) add() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.count++
	return true
}

// done removes one.
func (g *closableGroup) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.closed && g.count == 0 {
		close(g.empty)
	}
}

// close rejects further work and returns a channel that is closed when no work is left.
func (g *closableGroup) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && g.count == 0 {
		close(g.empty)
	}
	g.closed = true
	return g.empty
}
