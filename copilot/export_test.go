package copilot

import (
	"context"
	"reflect"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/store"
)

// AppendUnstored appends an event to the record in memory only, as of a process that has lost the session before it stored the event.
func (s *Session) AppendUnstored(b event.Body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Reopen()
	_, _ = s.record.Append(event.Event{Body: b})
}

// Restored returns a session for a head of the store.
func (h *Host) Restored(head store.Session) (*Session, error) { return h.restore(head) }

// UseStorage keeps the storage of a session in use until release is called.
func (s *Session) UseStorage() (release func()) {
	s.storage.mu.Lock()
	return s.storage.mu.Unlock
}

// SyncFromStore updates a suspended session from a head of the store.
func (s *Session) SyncFromStore(ctx context.Context, head store.Session) error {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	return s.syncFromStore(ctx, head)
}

// Commands returns the number of commands, and the routes of those that other processes can call.
func Commands() (fields int, routes []string) {
	c := newCommands()
	for _, s := range c.all() {
		routes = append(routes, s.pattern())
	}
	return reflect.TypeOf(c).NumField(), routes
}

// Flushed reports whether everything of a session is stored.
func (h *Host) Flushed(session string) bool {
	s, _ := h.Loaded(session)
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	return s.storage.lease != nil && s.storage.lease.Stored() == s.record.Last()
}
