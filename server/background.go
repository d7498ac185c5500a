package server

import (
	"context"
	"sync"
	"time"
)

// backgroundWork is work that runs beside the requests. It must be stopped and awaited.
type backgroundWork struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// background starts work that ends when ctx is done.
func background(ctx context.Context, work ...func(context.Context)) backgroundWork {
	ctx, cancel := context.WithCancel(ctx)
	w := backgroundWork{cancel: cancel, ended: make(chan struct{})}
	var running sync.WaitGroup
	for _, do := range work {
		running.Go(func() { do(ctx) })
	}
	go func() {
		defer close(w.ended)
		running.Wait()
	}()
	return w
}

// stopBackground is how long a stop waits for the work before anything else ends. Some work waits for an agent, and ends with it.
const stopBackground = 300 * time.Millisecond

// stop ends the work and gives it a moment.
func (w backgroundWork) stop() {
	w.cancel()
	late := time.NewTimer(stopBackground)
	defer late.Stop()
	select {
	case <-w.ended:
	case <-late.C:
	}
}

// wait waits for the end of the work, which uses the storage until then.
func (w backgroundWork) wait() { <-w.ended }

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
