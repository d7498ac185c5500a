// Package bench_test measures bin/portal with the real Copilot CLI: against a
// program that uses the SDK alone, or against a bare net/http server. Every
// figure is the median of pairs that take turns in one run, so that whatever
// else the machine does strikes both alike. It needs Linux.
package bench_test

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// pairs is how often each comparison is made.
const pairs = 9

func TestMain(m *testing.M) {
	if os.Getenv(bareVariable) != "" {
		serveBare()
		return
	}
	if directory := os.Getenv(heldVariable); directory != "" {
		if err := hold(directory); err != nil {
			panic(err)
		}
		return
	}
	code := m.Run()
	report.print(os.Stdout)
	fanoutReport.print(os.Stdout)
	os.Exit(code)
}

// report is what was measured, for people.
var report table

type table [][]string

// add takes a line. The baseline is what the value is compared with, as text; the
// aim is "" where there is none.
func (t *table) add(name, value, aim, baseline string) {
	*t = append(*t, []string{name, value, aim, baseline})
}

func (t *table) print(w io.Writer) {
	if len(*t) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s; median of %d alternating pairs\n\n", machine(), pairs)
	columns := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(columns, "what\tvalue\taim\tbaseline")
	for _, line := range *t {
		fmt.Fprintln(columns, strings.Join(line, "\t"))
	}
	columns.Flush()
	fmt.Fprintln(w)
}

// machine describes where this runs.
func machine() string {
	return fmt.Sprintf("machine: %d cores, %s %s/%s, Linux %s", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, kernel())
}

func kernel() string {
	var u syscall.Utsname
	if syscall.Uname(&u) != nil {
		return "?"
	}
	var b []byte
	for _, c := range u.Release {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}

// once runs a benchmark whose pairs stand for its rounds.
func once(b *testing.B, run func()) {
	b.Helper()
	if b.N > 1 {
		b.Skip("it has its own rounds: use -benchtime 1x")
	}
	run()
	b.ReportMetric(0, "ns/op") // would be the time of all rounds together
}

// alternate calls both sides as often as there are pairs, each first by turns.
func alternate(one, other func(round int)) { alternateTimes(pairs, one, other) }

func alternateTimes(times int, one, other func(round int)) {
	for i := range times {
		if i%2 == 0 {
			one(i)
			other(i)
		} else {
			other(i)
			one(i)
		}
	}
}

// quantile is that of the values, which it sorts; 0.5 gives the median.
func quantile[T cmp.Ordered](values []T, q float64) T {
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}

func median[T cmp.Ordered](values []T) T { return quantile(values, 0.5) }

// differences and ratios compare the sides of each pair.
func differences[T time.Duration | float64](of, from []T) []T {
	list := make([]T, len(of))
	for i := range of {
		list[i] = of[i] - from[i]
	}
	return list
}

func ratios[T time.Duration | float64](of, to []T) []float64 {
	list := make([]float64, len(of))
	for i := range of {
		list[i] = float64(of[i]) / float64(to[i])
	}
	return list
}

// ms writes a duration in milliseconds.
func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }

// mb writes bytes in MB.
func mb(bytes float64) string { return fmt.Sprintf("%.1f MB", bytes/1e6) }
