package ui

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// ExtraMethods returns methods that another package adds to a connection, and a
// function that waits until everything they started has ended. That function is called
// once, after the contexts of all methods have ended.
type ExtraMethods func(Connection) (methods jsonrpc.Finder, wait func())

// Connection is the connection of a UI as [ExtraMethods] see it. Its methods are safe for
// concurrent use.
type Connection struct{ connection *connection }

// Notify sends a notification to the UI. It waits while too much is unsent, and fails
// when the connection or ctx ends.
func (c Connection) Notify(ctx context.Context, method string, params any) error {
	return c.connection.peer.Notify(ctx, method, params)
}

// WorkDir returns the directory where the UI works, the default of new sessions.
func (c Connection) WorkDir() string { return c.connection.workspace() }

// Watchers returns the number of UIs that are attached to each session, by id.
func (c Connection) Watchers() map[string]int { return c.connection.api.watchers() }

// allMethods returns the methods of the connection, and a function that waits for the
// work of the extra ones.
func (n *connection) allMethods() (methods jsonrpc.Finder, wait func()) {
	own := n.api.methods.Of(n)
	if n.api.options.Extra == nil {
		return own, func() {}
	}
	more, wait := n.api.options.Extra(Connection{n})
	return jsonrpc.Chain{own, more}, wait
}

// Methods returns the names of the methods that connections have. Tests need them.
func (a *API) Methods() []string {
	n := newConnection(a, Client{})
	methods, wait := n.allMethods()
	wait()
	return slices.Compact(slices.Sorted(slices.Values(methods.Names())))
}
