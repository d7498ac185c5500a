package copilot

import "reflect"

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
