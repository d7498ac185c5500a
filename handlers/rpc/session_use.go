package rpc

import (
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/permission"
)

// sessionUse is what is known here of a session besides what it knows itself.
type sessionUse struct {
	mu        sync.Mutex
	used      time.Time
	streams   map[*streamReader]struct{}
	following *copilot.Session // whose questions a goroutine carries to the plugin; nil if none does
	callback  string           // where to; "": nowhere
	known     bool             // it was created here, so that all its rules have passed by
	ownForce  bool             // it has a rule of its own for force pushes
}

// sessionUses are those of all sessions that were used through this dialect.
type sessionUses struct {
	mu   sync.Mutex
	byID map[string]*sessionUse
}

// use notes that a session is used.
func (a *API) use(s *copilot.Session) *sessionUse {
	a.uses.mu.Lock()
	defer a.uses.mu.Unlock()
	u := a.uses.byID[s.ID()]
	if u == nil {
		u = &sessionUse{streams: map[*streamReader]struct{}{}}
		a.uses.byID[s.ID()] = u
	}
	u.touch()
	return u
}

func (u *sessionUses) drop(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.byID, id)
}

func (u *sessionUse) touch() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used = time.Now()
}

// setRules notes whether the session has a rule of its own for force pushes.
func (u *sessionUse) setRules(permissions map[string]string, created bool) {
	_, own := rule(permissions, permission.ForcePush)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ownForce = u.ownForce || own
	u.known = u.known || created
}

// forceFollows says whether it is certain that the session has no rule of its
// own for force pushes.
func (u *sessionUse) forceFollows() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.known && !u.ownForce
}

func (u *sessionUse) join(r *streamReader) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.streams[r] = struct{}{}
}

func (u *sessionUse) leave(r *streamReader) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.streams, r)
	u.used = time.Now()
}

// allDelivered says whether all streams have written everything up to a number.
func (u *sessionUse) allDelivered(n uint64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for r := range u.streams {
		if r.written.Load() < n {
			return false
		}
	}
	return true
}

// address is where its call-backs go, "" for nowhere.
func (u *sessionUse) address() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.callback
}

// idleSince is when the session was used last; ok is false while it is watched.
func (u *sessionUse) idleSince() (used time.Time, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.used, len(u.streams) == 0
}
