package ui

import "context"

// enter notes a UI, leave that it has gone.
func (a *API) enter(n *connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.present[n] = nil
}

func (a *API) leave(n *connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.present, n)
}

// watchers counts the UIs that are attached to sessions. It takes the locks of
// connections within that of the API: nobody may do it the other way round.
func (a *API) watchers() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	count := map[string]int{}
	for n := range a.present {
		n.mu.Lock()
		for session := range n.attached {
			count[session]++
		}
		n.mu.Unlock()
	}
	return count
}

// replace makes a watch that of a UI. It returns when the one before tells no more.
func (a *API) replace(ctx context.Context, n *connection, w *watch) {
	a.mu.Lock()
	before := a.present[n]
	a.present[n] = w
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

// begin lets a watch tell what changes, unless there is another by now, or the UI
// has gone.
func (a *API) begin(ctx context.Context, n *connection, w *watch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.present[n] != w {
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.done = make(chan struct{})
	n.work.Go(func() { n.keep(ctx, w) })
}
