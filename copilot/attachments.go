package copilot

import (
	"slices"
	"sync"
)

// attachments are what the clients attached to sessions have, in the order in which they came. The zero value has none.
type attachments[T any] struct {
	mu        sync.Mutex
	bySession map[string][]*T
}

// add adds what a client of a session has. remove may be called more than once.
func (a *attachments[T]) add(session string, x *T) (remove func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bySession == nil {
		a.bySession = map[string][]*T{}
	}
	a.bySession[session] = append(a.bySession[session], x)
	return func() { a.remove(session, x) }
}

func (a *attachments[T]) remove(session string, x *T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bySession[session] = slices.DeleteFunc(a.bySession[session], func(y *T) bool { return y == x })
	if len(a.bySession[session]) == 0 {
		delete(a.bySession, session)
	}
}

// of returns what the clients of a session have.
func (a *attachments[T]) of(session string) []*T {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.bySession[session])
}
