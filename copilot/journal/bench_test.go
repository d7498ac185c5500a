package journal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/copilot-portal/portal/copilot/journal"
)

// turns returns event i of an activity in which every 64th entry ends the group of the 63 before it.
func turns(i int) event { return event{key: "a", end: i%64 == 63, cost: 1} }

func plain(int) event { return event{cost: 1} }

func fill(b *testing.B, j *journal.Journal[event], n int, next func(int) event) {
	b.Helper()
	for i := range n {
		if _, err := j.Append(next(i)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1e3, 1e4, 1e5, 1e6} {
		for name, next := range map[string]func(int) event{"plain": plain, "grouped": turns} {
			b.Run(fmt.Sprintf("evicting/%s/size=%d", name, size), func(b *testing.B) {
				j := journal.New(journal.Options[event]{Budget: size, Cost: costOf, Group: groupOf})
				fill(b, j, size, next)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					_, _ = j.Append(next(i))
				}
			})
		}
	}
	b.Run("unbounded", func(b *testing.B) {
		j := journal.New(journal.Options[event]{})
		b.ReportAllocs()
		for b.Loop() {
			_, _ = j.Append(event{})
		}
	})
}

// BenchmarkAppendFollowed measures the writer while readers wait for each entry.
func BenchmarkAppendFollowed(b *testing.B) {
	for _, readers := range []int{0, 10, 1000} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			j := journal.New(journal.Options[event]{Budget: 1e5, Meter: &journal.Meter{}})
			var group sync.WaitGroup
			for range readers {
				group.Go(func() { drain(j, func(int) {}) })
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = j.Append(event{})
			}
			j.Close()
			group.Wait()
		})
	}
}

// BenchmarkRound measures one append and the time until every waiting reader has the entry.
func BenchmarkRound(b *testing.B) {
	for _, readers := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			j := journal.New(journal.Options[event]{Budget: 1e5, Meter: &journal.Meter{}})
			var group, round sync.WaitGroup
			for range readers {
				group.Go(func() { drain(j, func(n int) { round.Add(-n) }) })
			}
			b.ReportAllocs()
			for b.Loop() {
				round.Add(readers)
				_, _ = j.Append(event{})
				round.Wait()
			}
			j.Close()
			group.Wait()
		})
	}
}

// BenchmarkThroughput measures one entry from a writer that never pauses to all readers.
func BenchmarkThroughput(b *testing.B) {
	for _, readers := range []int{1, 1000} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			j := journal.New(journal.Options[event]{})
			var group sync.WaitGroup
			var total atomic.Int64
			for range readers {
				group.Go(func() { drain(j, func(n int) { total.Add(int64(n)) }) })
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = j.Append(event{})
			}
			j.Close()
			group.Wait()
			b.ReportMetric(float64(total.Load())/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkReplay measures 1,000 concurrent readers of a whole record of 10,000 entries.
func BenchmarkReplay(b *testing.B) {
	for _, readers := range []int{1, 1000} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			const size = 1e4
			j := journal.New(journal.Options[event]{})
			fill(b, j, size, plain)
			j.Close()
			b.ReportAllocs()
			for b.Loop() {
				var group sync.WaitGroup
				for range readers {
					group.Go(func() { drain(j, func(int) {}) })
				}
				group.Wait()
			}
			b.ReportMetric(float64(b.N*readers)*size/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkNext measures reading one entry anywhere in a record where 63 of 64 numbers are holes.
func BenchmarkNext(b *testing.B) {
	for _, size := range []int{1e3, 1e4, 1e5, 1e6} {
		for _, limit := range []int{1, 256} {
			b.Run(fmt.Sprintf("holes/size=%d/limit=%d", size, limit), func(b *testing.B) {
				j := journal.New(journal.Options[event]{Cost: costOf, Group: groupOf})
				fill(b, j, size, turns)
				j.Trim(j.Last())
				b.ReportAllocs()
				for b.Loop() {
					_, _ = j.Next(b.Context(), rand.Uint64N(j.Last()), limit)
				}
			})
		}
	}
}

func BenchmarkTrim(b *testing.B) {
	b.Run("size=1000000", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			j := journal.New(journal.Options[event]{Cost: costOf, Group: groupOf})
			fill(b, j, 1e6, turns)
			b.StartTimer()
			j.Trim(j.Last())
		}
	})
}

// drain reads the whole record and calls got with the number of entries of each read. Evicted entries count as read.
func drain(j *journal.Journal[event], got func(int)) {
	for after := uint64(0); ; {
		entries, err := j.Next(context.Background(), after, 0)
		if gap, ok := err.(*journal.GapError); ok { //nolint:errorlint // Next does not wrap it
			got(int(gap.First - 1 - after))
			after = gap.First - 1
			continue
		}
		if err != nil {
			return
		}
		got(len(entries))
		after = entries[len(entries)-1].N
	}
}
