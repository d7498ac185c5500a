package rpc

import (
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/permission"
)

// use is what is known here of a session besides what it knows itself.
type use struct {
	mu        sync.Mutex
	used      time.Time
	streams   map[*reader]struct{}
	following *copilot.Session // whose questions a goroutine carries to the plugin; nil if none does
	callback  string           // where to; "": nowhere
	known     bool             // it was created here, so that all its rules have passed by
	ownForce  bool             // it has a rule of its own for force pushes
}

// uses are those of all sessions that were used through this dialect.
type uses struct {
	mu    sync.Mutex
	known map[string]*use
}

// use notes that a session is used.
func (a *API) use(s *copilot.Session) *use {
	a.uses.mu.Lock()
	defer a.uses.mu.Unlock()
	u := a.uses.known[s.ID()]
	if u == nil {
		u = &use{streams: map[*reader]struct{}{}}
		a.uses.known[s.ID()] = u
	}
	u.touch()
	return u
}

func (u *uses) drop(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.known, id)
}

func (u *use) touch() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used = time.Now()
}

// setRules notes whether the session has a rule of its own for force pushes.
func (u *use) setRules(permissions map[string]string, created bool) {
	_, own := rule(permissions, permission.ForcePush)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ownForce = u.ownForce || own
	u.known = u.known || created
}

// forceFollows says whether it is certain that the session has no rule of its
// own for force pushes.
func (u *use) forceFollows() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.known && !u.ownForce
}

func (u *use) join(r *reader) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.streams[r] = struct{}{}
}

func (u *use) leave(r *reader) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.streams, r)
	u.used = time.Now()
}

// told says whether all streams have written everything up to a number.
func (u *use) told(n uint64) bool {
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
func (u *use) address() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.callback
}

// idleSince is when the session was used last; ok is false while it is watched.
func (u *use) idleSince() (used time.Time, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.used, len(u.streams) == 0
}
