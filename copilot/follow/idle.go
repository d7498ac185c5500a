package follow

import (
	"context"
	"time"
)

// idleContext ends when it is not restarted in time. A reader of a busy record restarts it for each read, which costs less than
// a context with a new deadline. It is used by one goroutine, which stops it.
type idleContext struct {
	context.Context //nolint:containedctx // it is one

	parent   context.Context //nolint:containedctx // likewise
	limit    time.Time       // deadline of parent, which asks its own parents each time; zero: none
	cancel   context.CancelFunc
	timer    *time.Timer
	deadline time.Time
}

func newIdleContext(parent context.Context) *idleContext {
	limit, _ := parent.Deadline()
	return &idleContext{parent: parent, limit: limit}
}

// restart makes it end after a duration, and returns it.
func (c *idleContext) restart(after time.Duration) context.Context {
	c.deadline = time.Now().Add(after)
	if c.timer != nil && c.timer.Stop() {
		c.timer.Reset(after)
		return c
	}
	c.Context, c.cancel = context.WithCancel(c.parent)
	c.timer = time.AfterFunc(after, c.cancel)
	return c
}

// Deadline returns when it ends unless it is restarted.
func (c *idleContext) Deadline() (deadline time.Time, ok bool) {
	if !c.limit.IsZero() && c.limit.Before(c.deadline) {
		return c.limit, true
	}
	return c.deadline, true
}

func (c *idleContext) stop() {
	if c.timer != nil {
		c.timer.Stop()
		c.cancel()
	}
}
