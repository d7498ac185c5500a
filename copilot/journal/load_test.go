package journal_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

// kept returns a journal on a store, and a function that stores all its entries.
func kept(budget int, s *memoryStore) (*journal.Journal[event], func()) {
	j := journal.New(journal.Options[event]{Budget: budget, Cost: costOf, Group: groupOf, Pinned: true, Load: s.load})
	return j, func() {
		entries, _ := j.Next(ended(), s.last(), 1e6)
		s.write(entries...)
		j.Unpin(s.last())
	}
}

func TestNextLoadsEvictedEntries(t *testing.T) {
	tests := []struct {
		name   string
		store  *memoryStore // nil is an ordinary store
		record string
		then   string // recorded after the storing
		budget int
		after  uint64
		limit  int
		want   string
		loads  int
		most   int
	}{
		{name: "and memory has the rest", record: ". . . .", budget: 1, want: "1 2 3", loads: 1, most: 3},
		{name: "a page of it", record: ". . . .", budget: 1, after: 1, limit: 1, want: "2", loads: 1, most: 1},
		{name: "but no entries in memory", record: ". . . .", budget: 2, after: 2, want: "3 4"},
		{name: "entries that are not stored stay in memory", record: ". .", then: ". .", budget: 1, after: 1, want: "2", loads: 1, most: 1},
		{name: "with its flags", record: "a a A .", budget: 1, limit: 2, want: "1~ 2~", loads: 1, most: 2},
		{name: "with flags that follow from the loaded entries", store: &memoryStore{plain: true}, record: "b a a A .", budget: 1, want: "1 2~ 3~ 4", loads: 1, most: 4},
		{name: "with the holes of the store", store: &memoryStore{sparse: true}, record: "a b A .", budget: 1, want: "2 3 4", loads: 1, most: 3},
		{name: "and from a store that begins later", store: &memoryStore{begin: 1}, record: ". . .", budget: 1, after: 1, want: "2", loads: 1, most: 1},
		{name: "or a gap", store: &memoryStore{begin: 2}, record: ". . . .", budget: 1, want: "gap after 0 until 3", loads: 1, most: 3},
		{name: "a gap up to memory if the store has less", store: &memoryStore{begin: 3}, record: ". . . .", budget: 2, want: "gap after 0 until 3", loads: 1, most: 2},
		{name: "a gap up to memory if the store has nothing", store: &memoryStore{begin: 9}, record: ". . . .", budget: 2, want: "gap after 0 until 3", loads: 1, most: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := cmp.Or(tt.store, &memoryStore{})
			j, store := kept(tt.budget, s)
			record(t, j, tt.record)
			store()
			record(t, j, tt.then)
			assert.Equal(t, tt.want, show(j, tt.after, tt.limit))
			assert.Equal(t, tt.loads, s.loads)
			assert.Equal(t, tt.most, s.most)
		})
	}
}

func TestAbandonedStoreLeavesGap(t *testing.T) {
	s := &memoryStore{}
	j, store := kept(2, s)
	record(t, j, ". .")
	store()
	record(t, j, ". . . .")
	j.Unpin(1<<64 - 1)
	assert.Equal(t, "1 2", show(j, 0, 0), "stored entries are loaded")
	assert.Equal(t, "gap after 2 until 5", show(j, 2, 0))
	assert.Equal(t, "5 6", show(j, 4, 0))
}

func TestFailedLoad(t *testing.T) {
	broken := errors.New("disk error")
	tests := []struct {
		name string
		load func() ([]journal.Entry[event], error)
		want string
	}{
		{
			"is an error and not a gap", func() ([]journal.Entry[event], error) { return nil, broken },
			"journal: load entries after 1: disk error",
		},
		{
			"may not repeat an entry", func() ([]journal.Entry[event], error) { return []journal.Entry[event]{{N: 1}}, nil },
			"journal: load entries after 1: journal: stored entry 1 comes after 1",
		},
		{
			"may not change the order", func() ([]journal.Entry[event], error) { return []journal.Entry[event]{{N: 3}, {N: 2}}, nil },
			"journal: load entries after 1: journal: stored entry 2 comes after 3",
		},
		{
			"may wrap its gap", func() ([]journal.Entry[event], error) {
				return nil, fmt.Errorf("pruned: %w", &journal.GapError{First: 3})
			},
			"gap after 1 until 3",
		},
		{
			"may not send the reader back", func() ([]journal.Entry[event], error) { return nil, &journal.GapError{First: 1} },
			"gap after 1 until 6",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &journal.Meter{}
			o := journal.Options[event]{Meter: m, Load: func(context.Context, uint64, int) ([]journal.Entry[event], error) { return tt.load() }}
			j, err := journal.Restore(o, 5, nil)
			require.NoError(t, err)
			got, err := j.Next(t.Context(), 1, 0)
			assert.Equal(t, tt.want, outcome(got, err))
			var gap *journal.GapError
			assert.Equal(t, errors.As(err, &gap), m.Readers().Gaps > 0, "only a gap counts as one")
		})
	}
}

func TestLoadContext(t *testing.T) {
	o := journal.Options[event]{Load: func(ctx context.Context, _ uint64, _ int) ([]journal.Entry[event], error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	j, err := journal.Restore(o, 5, nil)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() {
			_, err := j.Next(ctx, 1, 0)
			result <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-result, context.Canceled, "the reader's context ends its load")
	})
	s := &memoryStore{}
	s.write(tail(t, "1:. 2:.")...)
	o.Load = func(ctx context.Context, after uint64, limit int) ([]journal.Entry[event], error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return s.load(ctx, after, limit)
	}
	j, err = journal.Restore(o, 2, nil)
	require.NoError(t, err)
	assert.Equal(t, "1 2", show(j, 0, 0), "a read that does not wait finds stored entries")
}

func TestEvictionContinuesDuringLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &memoryStore{}
		hold := make(chan struct{})
		o := journal.Options[event]{Budget: 2, Cost: costOf, Group: groupOf, Pinned: true}
		o.Load = func(ctx context.Context, after uint64, limit int) ([]journal.Entry[event], error) {
			entries, err := s.load(ctx, after, limit)
			<-hold
			return entries, err
		}
		j := journal.New(o)
		grow := func() {
			record(t, j, ". . . .")
			entries, err := j.Next(t.Context(), s.last(), 0)
			require.NoError(t, err)
			s.write(entries...)
			j.Unpin(s.last())
		}
		grow()
		one, two := read(t.Context(), j, 0), read(t.Context(), j, 1)
		require.Equal(t, "waits", one.now())
		require.Equal(t, 2, s.loads, "readers load concurrently")
		grow() // the lock is free
		assert.Equal(t, "7 8", show(j, 6, 0), "and other readers are not blocked")
		close(hold)
		assert.Equal(t, "1 2", one.now())
		assert.Equal(t, "2", two.now())
		assert.Equal(t, "3 4 5 6", show(j, 2, 0), "entries evicted meanwhile are loaded next")
	})
}

// Memory keeps 50 entries, yet no reader misses an entry that is not superseded.
func TestManyReadersFollowWriterAndStore(t *testing.T) {
	for name, newEvent := range map[string]func(int) event{"alone": alone, "in groups": interleaved} {
		t.Run(name, func(t *testing.T) {
			const written = 1200
			s := &memoryStore{}
			j, store := kept(50, s)
			var group sync.WaitGroup
			accounts := make([]*account, readers)
			failures := make([]error, readers)
			for i := range readers {
				group.Go(func() { accounts[i], failures[i] = follow(j, i*7, i%4*5) })
			}
			group.Go(func() {
				for s.last() < written {
					store()
				}
			})
			for n := 1; n <= written; n++ {
				_, err := j.Append(newEvent(n))
				require.NoError(t, err)
			}
			j.Close()
			group.Wait()
			assert.Zero(t, j.Excess())
			for i, a := range accounts {
				require.NoError(t, failures[i])
				assert.True(t, a.order, "reader %d saw another order", i)
				assert.Empty(t, a.gaps)
				missing, doubled := a.missing(written)
				assert.Empty(t, doubled, "reader %d", i)
				assertSuperseded(t, a, missing, newEvent(1).key != "")
			}
		})
	}
}
