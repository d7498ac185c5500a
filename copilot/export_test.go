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

// HasClients reports whether clients are attached to a session, here or in another process.
func (h *Host) HasClients(session string) bool {
	_, some := h.clients.of(session)
	return some
}
