package copilot

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// recorder writes the records of all sessions to the store, in one goroutine. It reads them like any other reader, so appending
// never waits, and records keep the entries that it has not read.
type recorder struct {
	log  *slog.Logger
	wake chan struct{}
	end  chan struct{} // closed by stop: write the rest, then end
	stop func()
	cut  context.CancelFunc // aborts even the rest

	blocked time.Time // until then it does nothing that waits for the disk
	done    chan struct{}

	mu       sync.Mutex
	notified []*Session // sessions with changes
}

// Times of the recorder.
const (
	storePause        = 5 * time.Millisecond  // between rounds, so that entries are written in groups
	storeRetryPause   = 20 * time.Millisecond // until written entries may be durable
	storeRetry        = time.Second           // after a failure
	storeFinalTimeout = time.Second           // for the rest when the portal stops
)

func newRecorder(log *slog.Logger) *recorder {
	r := &recorder{
		log: log, wake: make(chan struct{}, 1), end: make(chan struct{}), done: make(chan struct{}),
	}
	r.stop = sync.OnceFunc(func() { close(r.end) })
	ctx, cut := context.WithCancel(context.Background())
	r.cut = cut
	go r.run(ctx)
	return r
}

// close writes the rest, if the store accepts it in time, and returns when the recorder has ended.
func (r *recorder) close() {
	r.stop()
	late := time.AfterFunc(storeFinalTimeout, r.cut)
	<-r.done
	late.Stop()
	r.cut()
}

// notify reports changes of a session. It never waits.
func (r *recorder) notify(s *Session) {
	r.mu.Lock()
	r.notified = append(r.notified, s)
	r.mu.Unlock()
	signal(r.wake)
}

func (r *recorder) takeNotified() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	marked := r.notified
	r.notified = nil
	return marked
}

func (r *recorder) run(ctx context.Context) {
	defer close(r.done)
	open := map[*Session]time.Time{} // sessions that are not fully stored, with the time of the next attempt; zero: now
	pause := time.Duration(0)
	for {
		ending := r.wait(pause)
		r.add(open)
		pause = r.writeOpen(ctx, open)
		if ending {
			r.flush(ctx, open)
			return
		}
		<-time.After(storePause)
	}
}

// shorter returns the shorter of two pauses; 0 means none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// wait returns when there is work, or after the pause if it is not 0.
func (r *recorder) wait(pause time.Duration) (ending bool) {
	var again <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-r.wake:
	case <-again:
	case <-r.end:
		return true
	}
	return false
}

// add adds the notified sessions to open.
func (r *recorder) add(open map[*Session]time.Time) {
	for _, s := range r.takeNotified() {
		if _, known := open[s]; !known {
			open[s] = time.Time{}
		}
	}
}

// writeOpen writes the open sessions, and returns the time until the next attempt; 0 if none is left.
func (r *recorder) writeOpen(ctx context.Context, open map[*Session]time.Time) (pause time.Duration) {
	for s, at := range open {
		if wait := time.Until(at); wait > 0 {
			pause = shorter(pause, wait)
			continue
		}
		done, err := s.storePending(ctx, time.Now().After(r.blocked))
		switch {
		case done:
			delete(open, s)
		case err != nil:
			r.log.Debug("cannot store session", "session", s.id, "err", err)
			r.blocked = time.Now().Add(storeRetry)
			open[s] = r.blocked
			pause = shorter(pause, storeRetry)
		case s.host.options.Store.Failing():
			open[s] = time.Now().Add(storeRetry)
			pause = shorter(pause, storeRetry)
		default:
			open[s] = time.Time{}
			pause = storeRetryPause
		}
	}
	return pause
}

// flush writes until nothing is left or ctx ends.
func (r *recorder) flush(ctx context.Context, open map[*Session]time.Time) {
	for s := range open {
		open[s] = time.Time{} // try at once
	}
	r.blocked = time.Time{}
	for ctx.Err() == nil {
		r.add(open)
		if r.writeOpen(ctx, open) == 0 {
			return
		}
		<-time.After(storePause)
	}
	r.log.Warn("cannot store all sessions completely", "sessions", len(open))
}
