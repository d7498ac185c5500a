package journal_test

import (
	"runtime"
	"strconv"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

func TestDroppedValuesAreFreed(t *testing.T) {
	tests := []struct {
		name   string
		budget int
		trim   bool
		group  func(n int) (string, bool)
		freed  int // of 300
	}{
		{name: "evicted", budget: 1, group: func(int) (string, bool) { return "", false }, freed: 299},
		{name: "evicted from an open group", budget: 1, group: func(int) (string, bool) { return "a", false }, freed: 299},
		{name: "trimmed", trim: true, group: func(n int) (string, bool) { return "a", n == 299 }, freed: 299},
		{name: "kept", group: func(n int) (string, bool) { return "a", n == 299 }, freed: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := journal.New(journal.Options[*[64]int]{
				Budget: tt.budget,
				Group:  func(v *[64]int) (string, bool) { return tt.group(v[0]) },
			})
			values := appendWeakly(t, j)
			if tt.trim {
				j.Trim(j.Last())
			}
			runtime.GC()
			assert.Equal(t, tt.freed, countFreed(values))
			runtime.KeepAlive(j)
		})
	}
}

func appendWeakly(t *testing.T, j *journal.Journal[*[64]int]) []weak.Pointer[[64]int] {
	t.Helper()
	var values []weak.Pointer[[64]int]
	for n := range 300 {
		v := &[64]int{n}
		values = append(values, weak.Make(v))
		_, err := j.Append(v)
		require.NoError(t, err)
	}
	return values
}

func countFreed(values []weak.Pointer[[64]int]) int {
	freed := 0
	for _, v := range values {
		if v.Value() == nil {
			freed++
		}
	}
	return freed
}

func TestMemoryFollowsKeptEntries(t *testing.T) {
	const kept, appended = 1000, 150_000
	tests := []struct {
		name string
		make func(i int) event
		trim bool
	}{
		{name: "though entries are evicted", make: func(int) event { return event{cost: 1} }},
		{name: "though groups never end", make: func(i int) event { return event{cost: 1, key: strconv.Itoa(i)} }},
		{name: "though a group never ends", make: func(int) event { return event{cost: 1, key: "a"} }},
		{name: "though few are kept of each chunk", trim: true, make: func(i int) event {
			return event{key: "a", end: i%500 == 499}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := heap()
			j := newJournal(kept)
			for i := range appended {
				_, err := j.Append(tt.make(i))
				require.NoError(t, err)
			}
			if tt.trim {
				j.Trim(j.Last())
			}
			grown := int(heap()) - int(before)
			runtime.KeepAlive(j)
			assert.Less(t, grown, kept*600, "bytes for %d entries kept", kept)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestAppendWithoutWaitersDoesNotAllocate(t *testing.T) {
	j := newJournal(1000)
	appendPlain(t, j, 2000)
	allocations := testing.AllocsPerRun(2000, func() { _, _ = j.Append(event{cost: 1}) })
	assert.Zero(t, allocations, "except for an occasional chunk")
}
