package cluster_test

import (
	"bytes"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/memlog"
	"github.com/copilot-portal/portal/copilot/store"
)

// processor returns the time that this process has computed.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkShip measures the work for an event in groups of 100: writing it without a cluster, writing and shipping it, which
// includes that the holder reads its own changes back, and all that with another node, which applies them.
func BenchmarkShip(b *testing.B) {
	for _, nodes := range []int{0, 1, 2} {
		b.Run([]string{"alone", "holder", "holder and another node"}[nodes], func(b *testing.B) {
			server := memlog.NewServer()
			directory := b.TempDir()
			var first *store.Store
			var all []*cluster.Node
			for i := range max(nodes, 1) {
				o := store.Options{Directory: directory + string(rune('a'+i)), Delay: time.Millisecond}
				var n *cluster.Node
				if nodes > 0 {
					n = cluster.New(&memlog.Log{Server: server}, cluster.Options{Name: "bench", Node: string(rune('a' + i))})
					o.Cluster = n
					all = append(all, n)
				}
				s, err := store.Open(b.Context(), o)
				require.NoError(b, err)
				b.Cleanup(func() { _ = s.Close() })
				if n != nil {
					require.NoError(b, n.Join(b.Context(), s))
					n.Start(b.Context(), func([]string) {}, func() cluster.State { return cluster.State{} })
					b.Cleanup(n.Close)
				}
				if first == nil {
					first = s
				}
			}
			l, err := first.Create(b.Context(), store.Session{ID: "s", Meta: make([]byte, 500)})
			require.NoError(b, err)
			data := bytes.Repeat([]byte("0123456789abcdef"), 9)
			number, began := uint64(0), processor(b)
			for b.Loop() {
				for range 100 {
					number++
					require.NoError(b, l.Append(store.Entry{Number: number, Data: data}))
				}
				require.NoError(b, first.Flush(b.Context()))
				if nodes > 0 {
					all[0].AwaitNumber(b.Context(), "session/s", number)
				}
				for _, n := range all { // until it is everywhere
					n.AwaitApplied(b.Context(), server.Last())
				}
			}
			b.ReportMetric(float64((processor(b)-began).Nanoseconds())/float64(number), "cpu-ns/event")
		})
	}
}
