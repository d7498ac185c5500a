package jsonrpc

import "sync"

// A gate counts what is under way until it is shut and empty. Unlike a [sync.WaitGroup] it may be waited for while
// something tries to come in.
type closableGroup struct {
	mu    sync.Mutex
	count int
	shut  bool
	empty chan struct{}
}

func newClosableGroup() *closableGroup { return &closableGroup{empty: make(chan struct{})} }

// add lets one in, unless the gate is shut.
func (g *closableGroup) add() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.count++
	return true
}

// done lets one out.
func (g *closableGroup) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.shut && g.count == 0 {
		close(g.empty)
	}
}

// close lets nobody in any more and returns a channel that is closed when all are out.
func (g *closableGroup) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut && g.count == 0 {
		close(g.empty)
	}
	g.shut = true
	return g.empty
}
