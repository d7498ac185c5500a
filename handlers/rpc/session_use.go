package rpc

import (
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/permission"
)

// sessionUse is what this dialect knows of a session beyond the session itself.
type sessionUse struct {
	mu        sync.Mutex
	used      time.Time
	streams   map[*streamReader]struct{}
	following *copilot.Session // whose questions a relay carries to the plugin; nil: none
	callback  string           // the address of the plugin; "": none
	known     bool             // it was created here, so all its rules are known
	ownForce  bool             // it has a rule of its own for force pushes
}

// sessionUses are the sessions used through this dialect.
type sessionUses struct {
	mu   sync.Mutex
	byID map[string]*sessionUse
}

// use records that a session is used.
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

// setRules records whether the session has a rule of its own for force pushes.
func (u *sessionUse) setRules(permissions map[string]string, created bool) {
	_, own := rule(permissions, permission.ForcePush)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ownForce = u.ownForce || own
	u.known = u.known || created
}

// forceFollows reports whether the session certainly has no rule of its own for force pushes.
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

// allDelivered reports whether all streams have written everything up to a number.
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

// address returns the callback address; "" for none.
func (u *sessionUse) address() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.callback
}

// idleSince returns when the session was last used; ok is false while a client watches it.
func (u *sessionUse) idleSince() (used time.Time, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.used, len(u.streams) == 0
}
