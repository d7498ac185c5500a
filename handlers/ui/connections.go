package ui

import "context"

// addConnection notes a UI, leave that it has gone.
func (a *API) addConnection(n *connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.connections[n] = nil
}

func (a *API) removeConnection(n *connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.connections, n)
}

// watchers counts the UIs that are attached to sessions. It takes the locks of
// connections within that of the API: nobody may do it the other way round.
func (a *API) watchers() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	count := map[string]int{}
	for n := range a.connections {
		n.mu.Lock()
		for session := range n.attached {
			count[session]++
		}
		n.mu.Unlock()
	}
	return count
}

// replaceWatch makes a watch that of a UI. It returns when the one before tells no more.
func (a *API) replaceWatch(ctx context.Context, n *connection, w *sessionWatch) {
	a.mu.Lock()
	before := a.connections[n]
	a.connections[n] = w
	runs := before != nil && before.cancel != nil // else it never will
	a.mu.Unlock()
	if !runs {
		return
	}
	before.cancel()
	select {
	case <-before.done:
	case <-ctx.Done():
	}
}

// startWatch lets a watch tell what changes, unless there is another by now, or the UI
// has gone.
func (a *API) startWatch(ctx context.Context, n *connection, w *sessionWatch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.connections[n] != w {
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.done = make(chan struct{})
	n.work.Go(func() { n.reportChanges(ctx, w) })
}
