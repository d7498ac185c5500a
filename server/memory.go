package server

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const (
	startLength  = 3 * time.Second // how long the start of a portal may take, with what follows by itself, such as recovery
	many         = 100             // connections, whose memory is worth a collection
	releaseDelay = time.Second     // after many connections were closed: others may follow

	manyOpen        = 500 // connections, with which garbage is collected more often
	manyOpenPercent = 40  // GOGC for them, which is 100 by default
)

// releaseMemory returns memory to the system that nothing needs after the start and after many connections were closed, until ctx is done. The
// runtime would take minutes.
func (s *Server) releaseMemory(ctx context.Context, manyClosed <-chan struct{}) {
	timer := time.NewTimer(startLength)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-manyClosed:
			timer.Reset(releaseDelay)
		case <-timer.C:
			runtime.GC() // what is in pools survives one collection
			debug.FreeOSMemory()
			if err := releaseProgram(); err != nil {
				s.log.Debug("cannot release the pages of the program", "err", err)
			}
		}
	}
}

// connectionCount counts the open connections. It makes the runtime collect garbage more often while there are many, because the heap would
// grow to twice what is in use, and reports when many were closed.
type connectionCount struct {
	manyClosed chan struct{} // has an element after [many] more were closed than opened

	mu         sync.Mutex
	open, most int // most: since the last element
	percent    int // GOGC before there were many; 0: there are not
}

func newConnectionCount() *connectionCount {
	return &connectionCount{manyClosed: make(chan struct{}, 1)}
}

func (c *connectionCount) opened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	c.most = max(c.most, c.open)
	if c.open >= manyOpen && c.percent == 0 {
		c.percent = debug.SetGCPercent(manyOpenPercent)
		if c.percent < manyOpenPercent { // the user wants less, or none
			debug.SetGCPercent(c.percent)
		}
	}
}

func (c *connectionCount) closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.open < manyOpen/2 && c.percent != 0 {
		debug.SetGCPercent(c.percent)
		c.percent = 0
	}
	if c.most-c.open < many {
		return
	}
	c.most = c.open
	select {
	case c.manyClosed <- struct{}{}:
	default:
	}
}
