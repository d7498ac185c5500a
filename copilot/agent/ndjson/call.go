package ndjson

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
)

// call is a request with all its attempts, as the policy of its method says.
type call struct {
	method  string
	over    <-chan struct{} // closed when a retry is useless; nil: never
	attempt func(n int) error
	failed  func(n int, err error, again bool, wait time.Duration) // called after each failed attempt
}

func (c call) perform(ctx context.Context) error {
	backoff := policyOf(c.method).backoff
	for n := 1; ; n++ {
		err := c.attempt(n)
		if err == nil {
			return nil
		}
		again := n <= len(backoff) && isTransient(err) && ctx.Err() == nil && !agent.IsClosed(c.over)
		wait := time.Duration(0)
		if again {
			wait = backoff[n-1]
		}
		c.failed(n, err, again, wait)
		if !again {
			return err
		}
		if err := sleep(ctx, wait, c.over); err != nil {
			return err
		}
	}
}

// sleep waits until d has passed, ctx ends, or over is closed.
func sleep(ctx context.Context, d time.Duration, over <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-over:
		return stdio.ErrGone
	case <-ctx.Done():
		return ctx.Err()
	}
}
