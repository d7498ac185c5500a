package copilot

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// recorder writes the records of all sessions to the store. It is one more
// reader of them, so that appending waits for nothing and readers never wait for
// the disk; the record keeps what it has not read. It is one goroutine.
type recorder struct {
	log  *slog.Logger
	wake chan struct{}
	end  chan struct{} // closed by stop: once more, then end
	stop func()
	cut  context.CancelFunc // ends even that

	blocked time.Time // until then nothing is tried that waits for the disk; the recorder's own
	done    chan struct{}

	mu       sync.Mutex
	notified []*Session // with something new
}

// How the recorder goes about its work.
const (
	storePause        = 5 * time.Millisecond  // lets more come together
	storeRetryPause   = 20 * time.Millisecond // until what was handed over may be durable
	storeRetry        = time.Second           // after a failure
	storeFinalTimeout = time.Second           // for what is left when the portal stops
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

// close writes what is left, if that can be, and returns when the recorder has ended.
func (r *recorder) close() {
	r.stop()
	late := time.AfterFunc(storeFinalTimeout, r.cut)
	<-r.done
	late.Stop()
	r.cut()
}

// notify says that there is something new in a session. It never waits.
func (r *recorder) notify(s *Session) {
	r.mu.Lock()
	r.notified = append(r.notified, s)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyway
	}
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
	open := map[*Session]time.Time{} // with something that is not durable yet; zero, or when to try again
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

// shorter is the shorter of two pauses, of which 0 is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// wait returns when there is something to do, or after a pause that is not 0.
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

// add takes the marked sessions to those that are open.
func (r *recorder) add(open map[*Session]time.Time) {
	for _, s := range r.takeNotified() {
		if _, known := open[s]; !known {
			open[s] = time.Time{}
		}
	}
}

// writeOpen keeps what is open and tells how long to wait until the next attempt; 0
// if nothing is.
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
			r.log.Debug("a session is not stored", "session", s.id, "err", err)
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

// flush writes what is left.
func (r *recorder) flush(ctx context.Context, open map[*Session]time.Time) {
	for s := range open {
		open[s] = time.Time{} // there is no later attempt
	}
	r.blocked = time.Time{}
	for ctx.Err() == nil {
		r.add(open)
		if r.writeOpen(ctx, open) == 0 {
			return
		}
		<-time.After(storePause)
	}
	r.log.Warn("some sessions could not be stored to their end", "sessions", len(open))
}
