package journal_test

import (
	"context"
	"testing"

	"github.com/copilot-portal/portal/copilot/journal"
)

// BenchmarkAppendPinned measures a writer over its budget, with a store that is a hundred entries behind or hangs.
func BenchmarkAppendPinned(b *testing.B) {
	for name, next := range map[string]func(int) event{"plain": plain, "grouped": turns} {
		for store, every := range map[string]int{"stored by the hundred": 100, "never stored": 1 << 62} {
			b.Run(name+"/"+store, func(b *testing.B) {
				j := journal.New(journal.Options[event]{Budget: 1e4, Cost: costOf, Group: groupOf, Pinned: true})
				fill(b, j, 1e4, next)
				b.ReportAllocs()
				for i := 1; b.Loop(); i++ {
					n, _ := j.Append(next(i))
					if i%every == 0 {
						j.Unpin(n)
					}
				}
			})
		}
	}
}

// BenchmarkNextLoaded measures what the journal adds to a load of 256 entries.
func BenchmarkNextLoaded(b *testing.B) {
	page := make([]journal.Entry[event], 256)
	for i := range page {
		page[i] = journal.Entry[event]{N: uint64(i) + 1, Value: turns(i)}
	}
	o := journal.Options[event]{Cost: costOf, Group: groupOf}
	o.Load = func(context.Context, uint64, int) ([]journal.Entry[event], error) { return page, nil }
	j, err := journal.Restore(o, 1e6, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = j.Next(b.Context(), 0, 256)
	}
}

func BenchmarkRestore(b *testing.B) {
	tail := make([]journal.Entry[event], 1000)
	for i := range tail {
		tail[i] = journal.Entry[event]{N: uint64(i) + 5000, Value: turns(i)}
	}
	for name, entries := range map[string][]journal.Entry[event]{"nothing loaded": nil, "1000 entries": tail} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = journal.Restore(journal.Options[event]{Cost: costOf, Group: groupOf}, 4000, entries)
			}
		})
	}
}
