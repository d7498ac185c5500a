package share

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
)

const (
	// checkEvery is how often a link in use is checked: another process may have revoked it, or deleted its session.
	checkEvery = time.Second
	// usedEvery is how precise the last use is.
	usedEvery = time.Minute
)

// Use begins a request or connection of the holder of a token. The context that it returns has the [copilot.Access] of the link, and ends
// with the cause [ErrNotFound] when the link expires or is revoked. The caller must call done at the end, which waits for the check of
// the link. Errors are those of [Shares.Find].
func (s *Shares) Use(ctx context.Context, token string) (limited context.Context, x Share, done func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	u := &use{IDOf(token), cancel}
	s.add(u) // before it is checked, so that no revocation is missed
	if x, err = s.Find(ctx, token); err != nil {
		s.remove(u)
		cancel(nil)
		return nil, Share{}, nil, err
	}
	limited = context.WithValue(copilot.WithAccess(ctx, x.access()), shareKey{}, x)
	var watch sync.WaitGroup
	watch.Go(func() { s.watch(limited, u, token, x) })
	return limited, x, func() {
		cancel(nil)
		watch.Wait()
		s.remove(u)
	}, nil
}

type shareKey struct{}

// Of returns the link by which the caller of a context came.
func Of(ctx context.Context) (x Share, ok bool) {
	x, ok = ctx.Value(shareKey{}).(Share)
	return x, ok
}

func (s *Shares) add(u *use) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses[u] = struct{}{}
}

func (s *Shares) remove(u *use) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uses, u)
}

// watch records the use, and ends it when the link does. It returns when ctx ends.
func (s *Shares) watch(ctx context.Context, u *use, token string, x Share) {
	s.record(ctx, &x)
	expiry := time.NewTimer(time.Until(x.Expires))
	defer expiry.Stop()
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-expiry.C:
		case <-check.C:
		}
		ended := !x.Expires.After(time.Now()) // also while the store cannot be read
		if !ended {
			_, err := s.Find(ctx, token)
			ended = errors.Is(err, ErrNotFound) // another error may pass
		}
		if ended {
			u.end(ErrNotFound)
			return
		}
		s.record(ctx, &x)
	}
}

// record stores the time of the use, at most once in a while. Reading must not depend on it.
func (s *Shares) record(ctx context.Context, x *Share) {
	if now := time.Now(); now.Sub(x.Used) >= usedEvery && s.storage.UseShare(ctx, x.ID, now) == nil {
		x.Used = now
	}
}
