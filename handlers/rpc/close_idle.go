package rpc

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot"
)

const (
	idleCheckEvery = 12          // divides the idle limit into the interval of checks
	sweepEvery     = time.Minute // without an idle limit
)

// closeIdle closes the sessions of this dialect that have been idle too long, whichever portal
// started them, and forgets those that are over.
func (a *API) closeIdle(ctx context.Context) {
	interval := sweepEvery
	if a.options.Idle > 0 {
		interval = max(a.options.Idle/idleCheckEvery, time.Second)
	}
	every := time.NewTicker(interval)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			if a.options.Idle > 0 {
				a.checkIdle(ctx)
			}
			a.sweep()
		case <-ctx.Done():
			return
		}
	}
}

// checkIdle checks all sessions once.
func (a *API) checkIdle(ctx context.Context) {
	for after := ""; ctx.Err() == nil; {
		infos, next, err := a.options.Host.Sessions(ctx, after, 0)
		if err != nil {
			return // /health says why; the next check may succeed
		}
		for _, i := range infos {
			if a.isExpired(i) {
				a.expire(ctx, i.ID)
			}
		}
		if after = next; after == "" {
			return
		}
	}
}

// sweep forgets the use of sessions that are no longer in memory or are closed.
func (a *API) sweep() {
	a.uses.mu.Lock()
	defer a.uses.mu.Unlock()
	for id, u := range a.uses.byID {
		s, here := a.options.Host.Loaded(id)
		over := !here || s.Info().State == copilot.StateClosed
		if _, unwatched := u.idleSince(); unwatched && over {
			delete(a.uses.byID, id)
			a.delivered.forget(id)
		}
	}
}

// isExpired reports whether a session is open, idle, and unused for too long.
func (a *API) isExpired(i copilot.Info) bool {
	if i.Origin != Origin || i.Owner != 0 || i.State != copilot.StateIdle || time.Since(i.Changed) < a.options.Idle {
		return false
	}
	a.uses.mu.Lock()
	u := a.uses.byID[i.ID]
	a.uses.mu.Unlock()
	if u == nil {
		return true
	}
	used, ok := u.idleSince()
	return ok && time.Since(used) >= a.options.Idle
}

func (a *API) expire(ctx context.Context, id string) {
	s, err := a.options.Host.Session(ctx, id)
	if err == nil && s.Info().Owner == 0 && s.Info().State == copilot.StateIdle {
		err = s.Close()
	}
	if err != nil {
		a.options.Log.Debug("cannot close idle session", "session", id, "err", err)
		return
	}
	a.options.Log.Info("closed idle session", "session", id, "after", a.options.Idle)
	a.uses.drop(id)
	a.delivered.forget(id)
}
