package copilot

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// remoteFollower reads what other processes write to sessions that are watched in this one, and tells these processes about
// the clients that are attached here. It is one goroutine and reads nothing while there are no such sessions.
type remoteFollower struct {
	host *Host
	wake chan struct{}
	now  chan struct{} // ends the current interval
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	followed map[*Session]struct{}
	hot      time.Time // until then, something is likely to happen

	attached map[*Session]*remoteAttachment // of the goroutine
}

// The polling intervals of the follower, how long after a change it uses the short one, and how long it follows a session after
// its last use.
const (
	followEvery = 250 * time.Millisecond
	followSoon  = 20 * time.Millisecond
	followHot   = 2 * time.Second
	followAfter = time.Minute
)

func newFollower(h *Host) *remoteFollower {
	ctx, stop := context.WithCancel(context.Background())
	f := &remoteFollower{
		host: h, wake: make(chan struct{}, 1), now: make(chan struct{}, 1), stop: stop, done: make(chan struct{}),
		followed: map[*Session]struct{}{}, attached: map[*Session]*remoteAttachment{},
	}
	go f.run(ctx)
	return f
}

// close returns when the follower has ended.
func (f *remoteFollower) close() {
	f.stop()
	<-f.done
}

// add adds a session that another process holds.
func (f *remoteFollower) add(s *Session) {
	f.mu.Lock()
	f.followed[s] = struct{}{}
	f.mu.Unlock()
	signal(f.wake)
}

// hurry reads soon, because a command was executed in another process.
func (f *remoteFollower) hurry() {
	f.heat()
	signal(f.now)
}

func (f *remoteFollower) heat() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hot = time.Now().Add(followHot)
}

// interval returns the time until the next read.
func (f *remoteFollower) interval() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Now().Before(f.hot) {
		return followSoon
	}
	return followEvery
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is signalled already
	}
}

func (f *remoteFollower) run(ctx context.Context) {
	defer close(f.done)
	defer f.detachAll()
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
		for f.refresh(ctx) {
			select {
			case <-time.After(f.interval()):
			case <-f.now:
			case <-ctx.Done():
				return
			}
		}
	}
}

// refresh updates the sessions and reports whether any is left to follow.
func (f *remoteFollower) refresh(ctx context.Context) bool {
	for _, s := range f.list() {
		before := s.record.Last()
		if s.isUnused() || !s.refreshOwner(ctx) {
			f.mu.Lock()
			delete(f.followed, s)
			f.mu.Unlock()
			f.detach(s)
			continue
		}
		f.attach(ctx, s)
		if s.record.Last() != before {
			f.heat()
		}
	}
	return len(f.list()) > 0
}

func (f *remoteFollower) list() []*Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.followed))
}
