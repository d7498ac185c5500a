package ui

// addConnection registers a connection until removeConnection.
func (a *API) addConnection(n *connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.connections[n] = true
}

func (a *API) removeConnection(n *connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.connections, n)
}

// watchers returns the number of UIs that are attached to each session. It acquires the
// locks of connections while it holds that of the API, never the other way round.
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
