package gallery

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
)

// kind is that of interfaces in the store.
const kind = "interface"

// maxItems is how many interfaces are listed at most.
const maxItems = 1000

// shelf is where interfaces are kept: the facts of each, and lines. The first line is the description, line n+1 the code of version n.
// Without a store it is memory. Its methods may be called concurrently.
type shelf struct {
	store *store.Store

	mu     sync.Mutex
	memory []*kept // in the order in which they were made
}

type kept struct {
	item  Item
	lines [][]byte
}

var errNotFound = copilot.Errorf(copilot.NotFound, "no such interface: it was deleted, or belongs to another portal")

func unavailable(err error) error {
	return copilot.Errorf(copilot.Unavailable, "the interfaces that are stored cannot be had: %w", err)
}

// begin keeps a new interface.
func (s *shelf) begin(ctx context.Context, i Item, description []byte) error {
	if s.store == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.memory = append(s.memory, &kept{i, [][]byte{description}})
		return nil
	}
	a := activityOf(i)
	if err := s.store.Begin(ctx, a); err != nil {
		return unavailable(err)
	}
	if _, err := s.store.Note(ctx, a, description); err != nil {
		return unavailable(err)
	}
	return nil
}

// note keeps what has changed. An interface whose portal is gone is this one's from then on.
func (s *shelf) note(ctx context.Context, i Item, done bool, lines ...[]byte) error {
	if s.store == nil {
		return s.remember(i, done, lines)
	}
	a := activityOf(i)
	a.Done = done
	_, err := s.store.Note(ctx, a, lines...)
	if errors.Is(err, store.ErrLost) {
		if _, err = s.store.Adopt(ctx, kind); err == nil {
			_, err = s.store.Note(ctx, a, lines...)
		}
	}
	switch {
	case errors.Is(err, store.ErrLost):
		return copilot.Errorf(copilot.Busy, "another portal on the same data directory looks after this interface, or it was deleted; change it there")
	case err != nil:
		return unavailable(err)
	case done:
		_, _ = s.store.DropDone(ctx, kind, time.Now().Add(time.Minute)) // else with the next; it is not listed
	}
	return nil
}

func (s *shelf) remember(i Item, done bool, lines [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.memory, func(k *kept) bool { return k.item.ID == i.ID })
	switch {
	case at < 0:
		return errNotFound
	case done:
		s.memory = slices.Delete(s.memory, at, at+1)
	default:
		s.memory[at].item = i
		s.memory[at].lines = append(s.memory[at].lines, lines...)
	}
	return nil
}

// get reads the facts of an interface.
func (s *shelf) get(ctx context.Context, id string) (Item, error) {
	if s.store == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		at := slices.IndexFunc(s.memory, func(k *kept) bool { return k.item.ID == id })
		if at < 0 {
			return Item{}, errNotFound
		}
		return s.memory[at].item, nil
	}
	a, err := s.store.Activity(ctx, kind, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && a.Done:
		return Item{}, errNotFound
	case err != nil:
		return Item{}, unavailable(err)
	}
	return itemOf(a)
}

// list gives the facts of all, the newest first.
func (s *shelf) list(ctx context.Context) (list []Item, err error) {
	if s.store == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, k := range slices.Backward(s.memory) {
			list = append(list, k.item)
		}
		return list, nil
	}
	all, err := s.store.Activities(ctx, kind, maxItems)
	if err != nil {
		return nil, unavailable(err)
	}
	for _, a := range all {
		if i, err := itemOf(a); err == nil && !a.Done {
			list = append(list, i)
		}
	}
	return list, nil
}

// line reads one line: 1 is the description, n+1 the code of version n.
func (s *shelf) line(ctx context.Context, id string, number int) ([]byte, error) {
	if s.store == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		at := slices.IndexFunc(s.memory, func(k *kept) bool { return k.item.ID == id })
		if at < 0 || number > len(s.memory[at].lines) {
			return nil, errNotFound
		}
		return s.memory[at].lines[number-1], nil
	}
	lines, err := s.store.Lines(ctx, kind, id, uint64(number-1), 1) //nolint:gosec // at least 1
	switch {
	case err != nil:
		return nil, unavailable(err)
	case len(lines) == 0:
		return nil, errNotFound
	}
	return lines[0], nil
}

func activityOf(i Item) store.Activity {
	head, _ := json.Marshal(i) // texts and numbers
	return store.Activity{Kind: kind, ID: i.ID, Created: i.Created, Head: head}
}

func itemOf(a store.Activity) (i Item, err error) {
	if err := json.Unmarshal(a.Head, &i); err != nil {
		return i, copilot.Errorf(copilot.Internal, "the interface is stored in a way that cannot be read: %w", err)
	}
	i.ID = a.ID
	return i, nil
}
