package fake

import (
	"context"
	"time"
)

// On returns a hook for [Agents.Before] that applies to one method only.
func On(m Method, hook func(context.Context, Call) error) func(context.Context, Call) error {
	return func(ctx context.Context, c Call) error {
		if c.Method != m {
			return nil
		}
		return hook(ctx, c)
	}
}

// SlowLaunch returns a hook that delays each launch.
func SlowLaunch(d time.Duration) func(context.Context, Call) error {
	return On(Launch, func(ctx context.Context, _ Call) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}
