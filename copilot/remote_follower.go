package copilot

import (
	"context"
	"sync"
	"time"
)

// remoteFollower reads what other processes write to sessions that are watched in this one.
// It is one goroutine and reads nothing while there are no such sessions.
type remoteFollower struct {
	wake chan struct{}
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	followed map[*Session]struct{}
}

// The polling interval of the follower, and how long it follows a session after its last use.
const (
	followEvery = 250 * time.Millisecond
	followAfter = time.Minute
)

func newFollower() *remoteFollower {
	ctx, stop := context.WithCancel(context.Background())
	f := &remoteFollower{wake: make(chan struct{}, 1), stop: stop, done: make(chan struct{}), followed: map[*Session]struct{}{}}
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
	select {
	case f.wake <- struct{}{}:
	default: // it wakes anyway
	}
}

func (f *remoteFollower) run(ctx context.Context) {
	defer close(f.done)
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
		for f.refresh(ctx) {
			select {
			case <-time.After(followEvery):
			case <-ctx.Done():
				return
			}
		}
	}
}

// refresh updates the sessions and reports whether any is left to follow.
func (f *remoteFollower) refresh(ctx context.Context) bool {
	for _, s := range f.list() {
		if s.isUnused() || !s.refreshOwner(ctx) {
			f.mu.Lock()
			delete(f.followed, s)
			f.mu.Unlock()
		}
	}
	return len(f.list()) > 0
}

func (f *remoteFollower) list() []*Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]*Session, 0, len(f.followed))
	for s := range f.followed {
		list = append(list, s)
	}
	return list
}
