package activity

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

// backend stores activities: a [store.Store] or memory. Its methods behave like those of the store.
type backend interface {
	Name() string // [store.Activity.OwnerName] of what this process owns
	Activity(ctx context.Context, kind, id string) (store.Activity, error)
	Activities(ctx context.Context, kind string, limit int) ([]store.Activity, error)
	Lines(ctx context.Context, kind, id string, after uint64, limit int) ([][]byte, error)
	Begin(ctx context.Context, a store.Activity, lines ...[]byte) error
	AppendActivity(ctx context.Context, a store.Activity, lines ...[]byte) (uint64, error)
	Adopt(ctx context.Context, kind string) ([]store.Activity, error)
	DeleteDone(ctx context.Context, kind string, before time.Time) ([]string, error)
	CatchUp(ctx context.Context) error
}

// memory is the backend of a log without a store.
type memory struct {
	mu  sync.Mutex
	all []*remembered // oldest first
}

type remembered struct {
	store.Activity

	lines [][]byte
}

// find returns nil for an activity that does not exist. The caller must hold the lock.
func (m *memory) find(id string) *remembered {
	at := slices.IndexFunc(m.all, func(r *remembered) bool { return r.ID == id })
	if at < 0 {
		return nil
	}
	return m.all[at]
}

func (m *memory) Name() string { return "" }

// CatchUp has nothing to wait for.
func (m *memory) CatchUp(context.Context) error { return nil }

func (m *memory) Activity(_ context.Context, _, id string) (store.Activity, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(id)
	if r == nil {
		return store.Activity{}, store.ErrNotFound
	}
	return r.Activity, nil
}

func (m *memory) Activities(_ context.Context, _ string, limit int) (list []store.Activity, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range slices.Backward(m.all) {
		if len(list) == limit {
			break
		}
		list = append(list, r.Activity)
	}
	return list, nil
}

func (m *memory) Lines(_ context.Context, _, id string, after uint64, limit int) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(id)
	if r == nil || after >= r.Last {
		return nil, nil
	}
	lines := r.lines[after:]
	if limit > 0 {
		lines = lines[:min(limit, len(lines))]
	}
	return slices.Clone(lines), nil
}

func (m *memory) Begin(_ context.Context, a store.Activity, lines ...[]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.find(a.ID) != nil {
		return store.ErrExists
	}
	a.Owner, a.Changed, a.Last = os.Getpid(), time.Now(), uint64(len(lines))
	m.all = append(m.all, &remembered{a, lines})
	return nil
}

func (m *memory) AppendActivity(_ context.Context, a store.Activity, lines ...[]byte) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(a.ID)
	if r == nil || r.Done {
		return 0, store.ErrLost
	}
	if a.Head != nil {
		r.Head = a.Head
	}
	r.lines = append(r.lines, lines...)
	r.Done, r.Last, r.Changed = a.Done, uint64(len(r.lines)), time.Now()
	return r.Last, nil
}

// Adopt returns none: activities in memory have a single owner and end with it.
func (m *memory) Adopt(context.Context, string) ([]store.Activity, error) { return nil, nil }

func (m *memory) DeleteDone(_ context.Context, _ string, before time.Time) (ids []string, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = slices.DeleteFunc(m.all, func(r *remembered) bool {
		old := r.Done && r.Changed.Before(before)
		if old {
			ids = append(ids, r.ID)
		}
		return old
	})
	return ids, nil
}
