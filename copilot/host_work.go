package copilot

import (
	"context"
	"sync"
	"time"
)

// hostWork is work in the background, which ends with the host.
type hostWork struct {
	sync.WaitGroup

	ctx    context.Context //nolint:containedctx // of the work, which outlives the calls that start it
	cancel context.CancelFunc
}

func (w *hostWork) begin() { w.ctx, w.cancel = context.WithCancel(context.Background()) }

// after does something in the background for a limited time, once before is closed; nil stands for at once. done is closed afterwards.
func (w *hostWork) after(before <-chan struct{}, limit time.Duration, do func(context.Context)) (done <-chan struct{}) {
	ended, ctx := make(chan struct{}), w.ctx
	w.Go(func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		do(ctx)
	})
	return ended
}

// lasting returns a context that does not end with the one of a call, but with the host, or after a time. The caller must cancel it.
func (w *hostWork) lasting(ctx context.Context, limit time.Duration) (lasting context.Context, cancel context.CancelFunc) {
	lasting, end := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(w.ctx, end)
	return lasting, func() {
		stop()
		end()
	}
}

// endTime is how long the checkpoints of runs that end with the host may take, however long the agents took.
const endTime = time.Second

// end waits for the work for a limited time, and cancels the rest.
func (w *hostWork) end() {
	late := time.NewTimer(endTime)
	defer late.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Wait()
	}()
	select {
	case <-done:
	case <-late.C:
	}
	w.cancel()
	<-done
}
