package server

import (
	"context"
	"runtime/debug"
	"sync"
	"time"
)

// startLength is how long the start of a portal may take, with what follows by itself, such as recovery.
const startLength = 3 * time.Second

// releaseStart returns memory that only the start needed. The caller must call stop, which waits for the end of that.
func (s *Server) releaseStart(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		timer := time.NewTimer(startLength)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
			debug.FreeOSMemory()
			if err := releaseProgram(); err != nil {
				s.log.Debug("cannot release the pages of the program", "err", err)
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}
