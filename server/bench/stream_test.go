package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sides starts both: the portal and the SDK alone.
func sides(tb testing.TB) (portal, bare opener) {
	tb.Helper()
	model := startModel(tb)
	return openPortal(tb, start(tb, model)), startBare(tb, model)
}

// in does something in a fresh talk, whose past is short.
func (open opener) in(tb testing.TB, do func(*talk)) {
	tb.Helper()
	t := open.warm(tb)
	do(t)
	t.close()
}

// BenchmarkBurst measures how fast a long answer that comes at once is read, by both forms of live.
func BenchmarkBurst(b *testing.B) {
	for _, reader := range []struct{ name, path, aim string }{{"live-token", "/live/reader", "92 %"}, {"live", "/live", "80 %"}} {
		b.Run(reader.name, func(b *testing.B) { once(b, func() { measureBurst(b, reader.name, reader.path, reader.aim) }) })
	}
}

// burstChunks is the length of the answer. After about 2,400 chunks at once, the CLI starts to send pieces again and in another order: the
// portal waits for the end of the text then, and a subscriber of the SDK gets it garbled.
const burstChunks = 2000

func measureBurst(b *testing.B, name, path, aim string) {
	b.Helper()
	const n = burstChunks
	model := startModel(b)
	p := start(b, model)
	portal, bare := openPortalAt(b, p, path), startBare(b, model)
	rate := func(open opener) (perSecond float64) {
		open.in(b, func(t *talk) {
			_, all := t.answer(b, n, 0)
			perSecond = n / all.Seconds()
		})
		return perSecond
	}
	rate(portal) // both are warm then
	rate(bare)
	before := cpuTime(b, p.PID)
	var ours, theirs []float64
	alternate(func(int) { ours = append(ours, rate(portal)) }, func(int) { theirs = append(theirs, rate(bare)) })
	perEvent := (cpuTime(b, p.PID) - before).Seconds() * 1e6 / float64(n*len(ours))
	ratio := median(ratios(ours, theirs))
	require.Positive(b, ratio)
	report.add("events of a burst of 2,000 chunks at a reader of "+name, fmt.Sprintf("%.0f/s = %.0f %%", median(ours), 100*ratio), aim,
		fmt.Sprintf("%.0f/s: a subscriber of the SDK alone", median(theirs)))
	report.add("CPU of the portal per event", fmt.Sprintf("%.0f µs", perEvent), "", "")
	b.ReportMetric(median(ours), "events/s")
	b.ReportMetric(100*ratio, "%ofSDK")
	b.ReportMetric(perEvent, "µs-CPU/event")
}

// BenchmarkLatency measures how much later a reader has what the model says than
// one who uses the SDK alone.
func BenchmarkLatency(b *testing.B) {
	once(b, func() {
		portal, bare := sides(b)
		var ours, theirs struct{ p50, p99 []time.Duration }
		measure := func(open opener, p50, p99 *[]time.Duration) {
			open.in(b, func(t *talk) {
				each, _ := t.answer(b, 400, 200)
				*p50, *p99 = append(*p50, quantile(each, 0.5)), append(*p99, quantile(each, 0.99))
			})
		}
		alternate(func(int) { measure(portal, &ours.p50, &ours.p99) }, func(int) { measure(bare, &theirs.p50, &theirs.p99) })
		p50, p99 := median(differences(ours.p50, theirs.p50)), median(differences(ours.p99, theirs.p99))
		report.add("added latency of a chunk, p50 (200 chunks/s)", ms(p50), "", ms(median(theirs.p50))+": from the model to the SDK's subscriber")
		report.add("added latency of a chunk, p99", ms(p99), "", ms(median(theirs.p99)))
		b.ReportMetric(float64(p50.Microseconds()), "µs-p50")
		b.ReportMetric(float64(p99.Microseconds()), "µs-p99")
	})
}

// BenchmarkCancel measures how long a streaming answer takes to end.
func BenchmarkCancel(b *testing.B) {
	once(b, func() {
		portal, bare := sides(b)
		stop := func(open opener) (took time.Duration) {
			open.in(b, func(t *talk) {
				t.prompt(stream(100_000, 200))
				for range 20 {
					t.until(b, func(h heard) bool { return h.kind == delta })
				}
				begin := time.Now()
				t.cancel()
				took = t.until(b, func(h heard) bool { return h.kind == idle }).at.Sub(begin)
			})
			return took
		}
		var ours, theirs []time.Duration
		alternate(func(int) { ours = append(ours, stop(portal)) }, func(int) { theirs = append(theirs, stop(bare)) })
		added := median(differences(ours, theirs))
		report.add("cancel to idle", ms(median(ours)), "20 ms", fmt.Sprintf("%s: Abort to idle with the SDK alone; the portal adds %s", ms(median(theirs)), ms(added)))
		b.ReportMetric(float64(median(ours).Microseconds()), "µs")
		b.ReportMetric(float64(added.Microseconds()), "µs-added")
	})
}
