package server

import (
	"context"
	"sync"
	"time"
)

// background starts work that ends when ctx is done. The caller must call stop, which ends the work and waits for it.
func background(ctx context.Context, work ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, do := range work {
		running.Go(func() { do(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// every calls do at once and then regularly, until ctx is done.
func every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		do()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
