package journal_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

// account records what one reader has seen of a record.
type account struct {
	seen  map[uint64]int // times seen
	gaps  map[uint64]int // times inside a reported gap
	order bool           // every entry followed a smaller one
}

// follow reads a record to its end, limit entries at a time, with a pause after each read.
func follow(j *journal.Journal[event], limit, pause int) (*account, error) {
	a := &account{seen: map[uint64]int{}, gaps: map[uint64]int{}, order: true}
	for after := uint64(0); ; {
		entries, err := j.Next(context.Background(), after, limit)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap):
			a.order = a.order && gap.After == after && gap.First > after+1
			for n := after + 1; n < gap.First; n++ {
				a.gaps[n]++
			}
			after = gap.First - 1
		case errors.Is(err, io.EOF):
			return a, nil
		case err != nil:
			return a, err
		}
		for _, e := range entries {
			a.order = a.order && e.N > after && e.Value.id == int(e.N)
			a.seen[e.N]++
			after = e.N
		}
		for range pause {
			runtime.Gosched()
		}
	}
}

// missing returns the numbers that are neither seen nor within a gap, and those that are so more than once.
func (a *account) missing(last int) (missing, doubled []int) {
	for n := 1; n <= last; n++ {
		switch a.seen[uint64(n)] + a.gaps[uint64(n)] {
		case 0:
			missing = append(missing, n)
		case 1:
		default:
			doubled = append(doubled, n)
		}
	}
	return missing, doubled
}

const (
	readers = 16
	entries = 10_000
	turn    = 40 // entries of one group with its end, interleaved with another group
)

// alone returns an entry that no other supersedes.
func alone(n int) event { return event{id: n, cost: 1} }

// interleaved returns entry n of a record with two interleaved groups and their ends.
func interleaved(n int) event {
	key := [...]string{"a", "b"}[n%2]
	return event{id: n, cost: 1, key: key, end: n%turn >= turn-2}
}

func TestManyReadersFollowOneWriter(t *testing.T) {
	tests := []struct {
		name   string
		budget int
		make   func(n int) event
		trim   bool
		gaps   bool // a reader that starts at the end has missed entries
		holes  bool // superseded entries may be missing
	}{
		{name: "they see every entry if there is no budget", make: alone},
		{name: "they see every entry or its gap if there is a budget", make: alone, budget: 500, gaps: true},
		{name: "they see every entry of groups if there is no budget", make: interleaved},
		{name: "they miss only superseded entries, or entries in a gap, if there is a budget", make: interleaved, budget: 500, gaps: true, holes: true},
		{name: "they miss only superseded entries if the budget suffices for the ends", make: interleaved, budget: entries/turn*2 + turn, holes: true},
		{name: "they miss only superseded entries if the record is trimmed", make: interleaved, trim: true, holes: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := newJournal(tt.budget)
			accounts := make([]*account, readers+1)
			failures := make([]error, readers+1)
			var group sync.WaitGroup
			for i := range readers {
				group.Go(func() { accounts[i], failures[i] = follow(j, i*7, i%4) })
			}
			for n := 1; n <= entries; n++ {
				_, err := j.Append(tt.make(n))
				require.NoError(t, err)
				if tt.trim && n%500 == 0 {
					j.Trim(uint64(n - 100))
				}
			}
			j.Close()
			group.Wait()

			accounts[readers], failures[readers] = follow(j, 0, 0)
			assert.Equal(t, tt.gaps, len(accounts[readers].gaps) > 0)
			for i, a := range accounts {
				require.NoError(t, failures[i])
				assert.True(t, a.order, "reader %d saw another order", i)
				missing, doubled := a.missing(entries)
				assert.Empty(t, doubled, "reader %d", i)
				assertSuperseded(t, a, missing, tt.holes)
				assert.True(t, tt.gaps || len(a.gaps) == 0, "reader %d", i)
			}
		})
	}
}

// assertSuperseded checks that every silently missing entry has an end that is not silently missing.
func assertSuperseded(t *testing.T, a *account, missing []int, allowed bool) {
	t.Helper()
	assert.True(t, allowed || len(missing) == 0, "missing %v", missing)
	for _, n := range missing {
		end := n
		for !interleaved(end).end {
			end += 2
		}
		require.Greater(t, end, n, "an end is missing")
		require.Equal(t, 1, a.seen[uint64(end)]+a.gaps[uint64(end)], "%d stands for %d", end, n)
	}
}

func TestManyWritersGetUniqueNumbers(t *testing.T) {
	j := newJournal(0)
	numbers := make([][]uint64, 8)
	var group sync.WaitGroup
	for i := range numbers {
		group.Go(func() {
			for range 1000 {
				n, err := j.Append(event{id: i})
				if err == nil {
					numbers[i] = append(numbers[i], n)
				}
			}
		})
	}
	group.Wait()

	all, err := j.Next(t.Context(), 0, 10_000)
	require.NoError(t, err)
	require.Len(t, all, 8000)
	for i, own := range numbers {
		require.Len(t, own, 1000)
		require.IsIncreasing(t, own)
		for _, n := range own {
			require.Equal(t, i, all[n-1].Value.id)
		}
	}
}
