package jetstream

import (
	"context"
	"sync"
)

// calls are the requests that are being answered.
type calls struct {
	parent func() (context.Context, context.CancelFunc)
	work   sync.WaitGroup

	mu   sync.Mutex
	open map[string]context.CancelFunc // by id
}

func newCalls(ctx context.Context) *calls {
	return &calls{
		parent: func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) },
		open:   map[string]context.CancelFunc{},
	}
}

// run answers a request on its own goroutine.
func (c *calls) run(id string, answer func(context.Context)) {
	ctx, cancel := c.parent()
	c.mu.Lock()
	c.open[id] = cancel
	c.mu.Unlock()
	c.work.Go(func() {
		defer c.cancel(id)
		answer(ctx)
	})
}

// cancel ends the context of a request that is still being answered.
func (c *calls) cancel(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.open[id]; cancel != nil {
		cancel()
		delete(c.open, id)
	}
}

// wait returns when all requests are answered.
func (c *calls) wait() { c.work.Wait() }
