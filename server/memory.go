package server

import (
	"context"
	"runtime/debug"
	"time"
)

// startLength is how long the start of a portal may take, with what follows by itself, such as recovery.
const startLength = 3 * time.Second

// releaseStart returns memory that only the start needed, unless ctx is done before.
func (s *Server) releaseStart(ctx context.Context) {
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
}
