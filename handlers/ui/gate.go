package ui

import (
	"context"
	"sync"
)

// responseGate holds the events of a run back until the response to its run.start or
// run.cancel is out.
// It never makes the one wait who holds it.
type responseGate struct {
	mu    sync.Mutex
	holds int
	free  chan struct{} // closed when nobody holds it
}

func (g *responseGate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holds++; g.holds == 1 {
		g.free = make(chan struct{})
	}
}

// release tells how many others hold it still.
func (g *responseGate) release() (others int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holds--; g.holds == 0 {
		close(g.free)
	}
	return g.holds
}

func (g *responseGate) isHeld() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holds > 0
}

// wait waits until nobody holds the gate, or ctx ends.
func (g *responseGate) wait(ctx context.Context) {
	for ctx.Err() == nil {
		g.mu.Lock()
		holds, free := g.holds, g.free
		g.mu.Unlock()
		if holds == 0 {
			return
		}
		select {
		case <-free:
		case <-ctx.Done():
		}
	}
}
