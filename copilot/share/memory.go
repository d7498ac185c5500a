package share

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
)

// storage keeps shares: [store.Store], or memory where sessions are not stored either.
type storage interface {
	AddShare(ctx context.Context, x store.Share, most int) (added bool, err error)
	Share(ctx context.Context, id string) (store.Share, error)
	Shares(ctx context.Context, session string) ([]store.Share, error)
	UseShare(ctx context.Context, id string, at time.Time) error
	DeleteShare(ctx context.Context, session, id string) (deleted bool, err error)
}

// memory is the storage of a portal without a store. It is safe for concurrent use.
type memory struct {
	host *copilot.Host

	mu   sync.Mutex
	byID map[string]store.Share
}

// AddShare implements storage.
func (m *memory) AddShare(_ context.Context, x store.Share, most int) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.byID, func(_ string, old store.Share) bool { return !old.Expires.After(time.Now()) })
	if len(m.of(x.Session)) >= most {
		return false, nil
	}
	m.byID[x.ID] = x
	return true, nil
}

// Share implements storage.
func (m *memory) Share(_ context.Context, id string) (store.Share, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, ok := m.byID[id]
	if !ok || !x.Expires.After(time.Now()) {
		return store.Share{}, store.ErrNotFound
	}
	if _, ok = m.host.Loaded(x.Session); !ok { // a store deletes links with their sessions
		return store.Share{}, store.ErrNotFound
	}
	return x, nil
}

// Shares implements storage.
func (m *memory) Shares(_ context.Context, session string) ([]store.Share, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(session), nil
}

// of returns the valid shares of a session, oldest first. The caller holds the lock.
func (m *memory) of(session string) (list []store.Share) {
	for _, x := range m.byID {
		if x.Session == session && x.Expires.After(time.Now()) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b store.Share) int { return a.Created.Compare(b.Created) })
	return list
}

// UseShare implements storage.
func (m *memory) UseShare(_ context.Context, id string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x, ok := m.byID[id]; ok {
		x.Used = at
		m.byID[id] = x
	}
	return nil
}

// DeleteShare implements storage.
func (m *memory) DeleteShare(_ context.Context, session, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, ok := m.byID[id]
	if !ok || x.Session != session {
		return false, nil
	}
	delete(m.byID, id)
	return true, nil
}
