package checkpoint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
)

// BenchmarkCheckpoint measures the snapshots of a directory with 10,000 files of 1.5 kB: the first one, one after three
// changes, and one without changes.
func BenchmarkCheckpoint(b *testing.B) {
	dir := repository(b)
	for i := range 10_000 {
		write(b, dir, fmt.Sprintf("d%d/f%d", i%100, i), strings.Repeat(fmt.Sprintf("line %d\n", i), 150))
	}
	stores := checkpoint.New(checkpoint.Options{Root: b.TempDir()})
	defer stores.Close()
	s, err := stores.Of(dir)
	require.NoError(b, err)
	begin := time.Now()
	_, err = s.Take(b.Context(), session, "first")
	require.NoError(b, err)
	first := time.Since(begin)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		for f := range 3 {
			write(b, dir, fmt.Sprintf("d%d/f%d", f, f), fmt.Sprint("changed ", i))
		}
		b.StartTimer()
		_, err := s.Take(b.Context(), session, "changed")
		require.NoError(b, err)
	}
	begin = time.Now()
	_, err = s.Take(b.Context(), session, "unchanged")
	require.NoError(b, err)
	b.ReportMetric(float64(time.Since(begin).Milliseconds()), "ms/unchanged")
	b.ReportMetric(float64(first.Milliseconds()), "ms/first") // the loop resets earlier metrics
}
