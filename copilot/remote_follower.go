package copilot

import (
	"context"
	"sync"
	"time"
)

// remoteFollower reads what other processes write to sessions that are watched in this one, and tells these processes about
// the clients that are attached here. It is one goroutine and reads nothing while there are no such sessions.
type remoteFollower struct {
	host *Host
	wake chan struct{} // holds a token when a session may be due
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	followed map[*Session]*followed

	attached map[*Session]*remoteAttachment // of the goroutine
}

// followed says when a session is read.
type followed struct {
	next          time.Time
	pollSoonUntil time.Time // until then, something is likely to happen
}

// The polling intervals of the follower, how long after a change it uses the short one, and how long it follows a session after
// its last use.
const (
	followEvery   = 250 * time.Millisecond
	followSoon    = 20 * time.Millisecond
	followSoonFor = 2 * time.Second
	followAfter   = time.Minute
)

func newFollower(h *Host) *remoteFollower {
	ctx, stop := context.WithCancel(context.Background())
	f := &remoteFollower{
		host: h, wake: make(chan struct{}, 1), stop: stop, done: make(chan struct{}),
		followed: map[*Session]*followed{}, attached: map[*Session]*remoteAttachment{},
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
	defer f.mu.Unlock()
	if f.followed[s] == nil {
		f.followed[s] = &followed{}
		signal(f.wake)
	}
}

// pollNow reads a session at once, and then often for a while: another process has changed it.
func (f *remoteFollower) pollNow(s *Session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.followed[s]; x != nil {
		x.next, x.pollSoonUntil = time.Now(), time.Now().Add(followSoonFor)
		signal(f.wake)
	}
}

// SessionsChanged reports that other machines have changed sessions in the store.
func (h *Host) SessionsChanged(ids []string) {
	for _, id := range ids {
		if s, loaded := h.Loaded(id); loaded {
			h.remoteFollower.pollNow(s)
			s.checkStored()
		}
	}
}

// checkStored makes the recorder notice that this process has lost the session.
func (s *Session) checkStored() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notifyRecorder()
}

// signal puts a token into a channel that holds one, unless it has it.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (f *remoteFollower) run(ctx context.Context) {
	defer close(f.done)
	defer f.detachAll()
	for {
		var due <-chan time.Time
		if next, some := f.refreshDue(ctx); some {
			due = time.After(time.Until(next))
		}
		select {
		case <-due:
		case <-f.wake:
		case <-ctx.Done():
			return
		}
	}
}

// refreshDue updates the sessions that are due, and returns when the next one is; ok is false if none is left to follow.
func (f *remoteFollower) refreshDue(ctx context.Context) (next time.Time, ok bool) {
	now := time.Now()
	for _, s := range f.due(now) {
		f.refresh(ctx, s, now)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.followed {
		if !ok || x.next.Before(next) {
			next, ok = x.next, true
		}
	}
	return next, ok
}

func (f *remoteFollower) due(now time.Time) (list []*Session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s, x := range f.followed {
		if !x.next.After(now) {
			list = append(list, s)
		}
	}
	return list
}

// refresh updates a session, or no longer follows it.
func (f *remoteFollower) refresh(ctx context.Context, s *Session, now time.Time) {
	before := s.record.Last()
	follows := !s.isUnused() && s.refreshOwner(ctx, readTime)
	f.mu.Lock()
	if x := f.followed[s]; follows {
		if s.record.Last() != before {
			x.pollSoonUntil = now.Add(followSoonFor)
		}
		x.next = now.Add(followEvery)
		if now.Before(x.pollSoonUntil) {
			x.next = now.Add(followSoon)
		}
	} else {
		delete(f.followed, s)
	}
	f.mu.Unlock()
	if follows {
		f.attach(ctx, s)
	} else {
		f.detach(s)
	}
}

// isUnused reports whether the session was not used for [followAfter].
func (s *Session) isUnused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.lastUse) > followAfter
}
