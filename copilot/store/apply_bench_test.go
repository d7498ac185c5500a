package store_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

// BenchmarkApply measures applying the messages of another node's sessions that stream: one message of each at a time.
func BenchmarkApply(b *testing.B) {
	for _, sessions := range []int{1, 20} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			s := open(b, b.TempDir(), func(o *store.Options) { o.Cluster = cutOff{} })
			_, err := s.Join(b.Context(), "bench", "here")
			require.NoError(b, err)
			data := bytes.Repeat([]byte("0123456789abcdef"), 9)
			sequence, number := uint64(0), uint64(0)
			apply := func(head bool) {
				var changes []store.Logged
				for i := range sessions {
					sequence++
					id := fmt.Sprint("s", i)
					c := store.Change{
						Subject: "session/" + id, Node: "there", Process: "p", Version: number + 1, Owner: &store.Owner{Key: 7, PID: 1}, Epoch: 1,
						Last: number + 2, Changed: time.Now().UnixMilli(), Entries: []store.Entry{{Number: number + 1, Data: data}, {Number: number + 2, Data: data}},
					}
					if head {
						c.Session = &store.Session{ID: id, Meta: make([]byte, 500)}
					}
					changes = append(changes, store.Logged{Change: c, Sequence: sequence})
				}
				number += 2
				_, err := s.Apply(context.Background(), changes, true)
				require.NoError(b, err)
			}
			apply(true)
			for b.Loop() {
				apply(false)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sessions), "ns/message")
		})
	}
}
